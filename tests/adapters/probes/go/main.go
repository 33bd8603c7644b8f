// Prints to stdout in Reset, and fails in Step.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"

	"reference/retryproof"
)

type probe struct{}

func (probe) Reset(context.Context) error {
	fmt.Println("printed by the program")
	child := exec.Command("echo", "printed by a child process")
	child.Stdout = os.Stdout
	return child.Run()
}

func (probe) Step(context.Context, retryproof.Operation) (retryproof.Observation, error) {
	return retryproof.Observation{}, errors.New("Größe 日本語 😀 \"quoted\" back\\slash\nnext line")
}

func main() {
	if err := retryproof.Serve(probe{}, retryproof.Options{Name: "probe", SecondsPerTick: 0.25}); err != nil {
		log.Fatal(err)
	}
}
