"""The daemon: takes runs from many clients, drives them, and keeps what came of them."""
