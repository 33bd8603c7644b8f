// A correct idempotent service behind an adapter, or one with a known fault:
//
//	reference [--fault duplicate-write|body-blind|sliding-expiry|forget-on-loss]
//
// To connect your own service, see README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/http"

	"reference/retryproof"
)

const retentionTicks = 6

var faults = map[string]bool{
	"duplicate-write": true, "body-blind": true, "sliding-expiry": true, "forget-on-loss": true,
}

type record struct {
	item     string
	order    int
	deadline int
}

// service takes orders under idempotency keys, with a clock that the test sets.
type service struct {
	fault   string
	records map[string]*record
	now     int
	orders  int
}

func newService(fault string) *service {
	return &service{fault: fault, records: map[string]*record{}}
}

// order answers one request: a status and, unless refused, the order's number.
func (s *service) order(key, item string) (status, order int) {
	known, ok := s.records[key]
	switch {
	case !ok || s.now >= known.deadline:
		return http.StatusCreated, s.remember(key, item, s.now+retentionTicks)
	case item != known.item && s.fault != "body-blind":
		return http.StatusConflict, 0
	case s.fault == "duplicate-write":
		return http.StatusCreated, s.remember(key, item, known.deadline)
	case s.fault == "sliding-expiry":
		known.deadline = s.now + retentionTicks
	}
	return http.StatusOK, known.order
}

func (s *service) answerWasLost(key string, status int) {
	if s.fault == "forget-on-loss" && status != http.StatusConflict {
		delete(s.records, key)
	}
}

func (s *service) remember(key, item string, deadline int) int {
	s.orders++
	s.records[key] = &record{item, s.orders, deadline}
	return s.orders
}

type adapter struct {
	fault   string
	service *service
}

func (a *adapter) Reset(context.Context) error {
	a.service = newService(a.fault)
	return nil
}

func (a *adapter) Step(_ context.Context, op retryproof.Operation) (retryproof.Observation, error) {
	a.service.now = op.At
	status, receipt := a.service.order(op.Key, op.Value)
	if op.Delivery == retryproof.Lost {
		a.service.answerWasLost(op.Key, status)
		status, receipt = 0, 0
	}
	return retryproof.Observation{
		Status: status, Receipt: receipt, CommittedWrites: a.service.orders,
	}, nil
}

func main() {
	var fault string
	flag.Func("fault", "what the service gets wrong", func(name string) error {
		if !faults[name] {
			return errors.New("there is no such fault")
		}
		fault = name
		return nil
	})
	flag.Parse()
	name := "reference"
	if fault != "" {
		name += " with " + fault
	}
	reference := &adapter{fault, newService(fault)}
	if err := retryproof.Serve(reference, retryproof.Options{Name: name}); err != nil {
		log.Fatal(err)
	}
}
