package main

import (
	"context"
	"errors"
	"log"

	"my-adapter/retryproof"
)

type adapter struct{}

func (adapter) Reset(ctx context.Context) error {
	return errors.New("not connected yet: empty the service here")
}

func (adapter) Step(ctx context.Context, op retryproof.Operation) (retryproof.Observation, error) {
	// Set the clock to op.At, send op.Value under op.Key, count the writes. Then
	// return retryproof.Observation{Status: 201, Receipt: 1, CommittedWrites: 1}, nil
	return retryproof.Observation{}, errors.New("not connected yet: send a request here")
}

func main() {
	if err := retryproof.Serve(adapter{}, retryproof.Options{Name: "my service"}); err != nil {
		log.Fatal(err)
	}
}
