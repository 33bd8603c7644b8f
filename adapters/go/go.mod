module reference

go 1.18
