// Package retryproof lets the retryproof runner drive a Go program: it speaks the adapter
// protocol, version 1, on stdin and stdout. Whatever the program itself prints goes to stderr.
// It needs nothing but the standard library.
package retryproof

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Operation is one request for the service: at tick At, send Value under Key.
type Operation struct {
	At       int      `json:"at"`
	Key      string   `json:"key"`
	Value    string   `json:"value"`
	Delivery Delivery `json:"delivery"`
}

// Delivery says whether the service's response reaches its caller.
type Delivery string

// The deliveries there are.
const (
	Received Delivery = "received"
	Lost     Delivery = "lost"
)

// Observation is what the caller saw, and the writes measured apart from it. A lost response
// has neither Status nor Receipt.
type Observation struct {
	Status          int // 0: none
	Receipt         int // The ordinal of the write that the response names; 0: none.
	CommittedWrites int // All writes since Reset.
}

// MarshalJSON writes what there is none of as null.
func (o Observation) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Status          *int `json:"status"`
		Receipt         *int `json:"receipt"`
		CommittedWrites int  `json:"committedWrites"`
	}{nullIfZero(o.Status), nullIfZero(o.Receipt), o.CommittedWrites})
}

func nullIfZero(number int) *int {
	if number == 0 {
		return nil
	}
	return &number
}

// Adapter connects a service. The context of a call ends shortly before the runner gives up and
// kills the process.
type Adapter interface {
	// Reset empties the service and puts its clock to tick 0.
	Reset(ctx context.Context) error
	Step(ctx context.Context, operation Operation) (Observation, error)
}

// Options describe an adapter to the runner.
type Options struct {
	Name string
	// SecondsPerTick is for a service without a test clock: the runner then waits in real time.
	SecondsPerTick float64
}

const (
	protocolVersion = 1
	maxLineBytes    = 1 << 20
	abortMargin     = 50 * time.Millisecond
)

// Codes of JSON-RPC errors.
const (
	parseError     = -32700
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
	adapterFailed  = -32000
)

// Taken when the package is initialized, before a logger can get hold of os.Stdout.
var requests, answers = takeOverStdio()

func takeOverStdio() (stdin, stdout *os.File) {
	stdin, stdout = os.Stdin, os.Stdout
	os.Stdout = os.Stderr
	if nothing, err := os.Open(os.DevNull); err == nil {
		os.Stdin = nothing
	}
	return stdin, stdout
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
}

type resultResponse struct {
	response
	Result any `json:"result"`
}

type errorResponse struct {
	response
	Error rpcError `json:"error"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e rpcError) Error() string { return e.Message }

type host struct {
	adapter Adapter
	options Options
	limit   time.Duration
}

// Serve answers the runner's requests until it says `shutdown` or closes stdin.
func Serve(adapter Adapter, options Options) error {
	h := &host{adapter, options, 2 * time.Second}
	lines := bufio.NewReaderSize(requests, maxLineBytes+len("\r\n"))
	for {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var asked request
		if err == nil {
			asked, err = parseRequest(line)
		}
		var result any
		if err == nil {
			result, err = h.answer(asked)
		}
		if err := writeResponse(asked.ID, result, err); err != nil {
			return err
		}
		if asked.Method == "shutdown" {
			return nil
		}
	}
}

func readLine(lines *bufio.Reader) ([]byte, error) {
	line, err := lines.ReadSlice('\n')
	tooLong := errors.Is(err, bufio.ErrBufferFull)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = lines.ReadSlice('\n')
	}
	if err != nil {
		return nil, err
	}
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if tooLong || len(line) > maxLineBytes {
		return nil, rpcError{invalidRequest, "the request line is longer than 1 MiB"}
	}
	return line, nil
}

func parseRequest(line []byte) (request, error) {
	var asked request
	if !json.Valid(line) {
		return asked, rpcError{parseError, "the request line is not JSON"}
	}
	if err := json.Unmarshal(line, &asked); err != nil || asked.Method == "" {
		return asked, rpcError{invalidRequest, "the request has no method"}
	}
	return asked, nil
}

func (h *host) answer(asked request) (any, error) {
	switch asked.Method {
	case "initialize":
		return h.initialize(asked.Params)
	case "reset":
		return nil, h.call(func(ctx context.Context) error { return h.adapter.Reset(ctx) })
	case "step":
		var operation Operation
		if err := json.Unmarshal(asked.Params, &operation); err != nil {
			return nil, rpcError{invalidParams, err.Error()}
		}
		var observation Observation
		err := h.call(func(ctx context.Context) (err error) {
			observation, err = h.adapter.Step(ctx, operation)
			return err
		})
		return observation, err
	case "shutdown":
		return nil, nil
	}
	return nil, rpcError{methodNotFound, "no such method: " + asked.Method}
}

func (h *host) initialize(params json.RawMessage) (any, error) {
	var limits struct {
		CallTimeoutMs int `json:"callTimeoutMs"`
	}
	if err := json.Unmarshal(params, &limits); err != nil {
		return nil, rpcError{invalidParams, err.Error()}
	}
	if limits.CallTimeoutMs > 0 {
		h.limit = time.Duration(limits.CallTimeoutMs) * time.Millisecond
	}
	capabilities := map[string]any{}
	if h.options.SecondsPerTick > 0 {
		capabilities["clock"] = map[string]float64{"secondsPerTick": h.options.SecondsPerTick}
	}
	language := "Go " + strings.TrimPrefix(runtime.Version(), "go")
	return map[string]any{
		"protocolVersion": protocolVersion,
		"adapter":         map[string]string{"name": h.options.Name, "language": language},
		"capabilities":    capabilities,
	}, nil
}

func (h *host) call(function func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), h.limit-abortMargin)
	defer cancel()
	defer func() {
		if panicked := recover(); panicked != nil {
			debug.PrintStack()
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	return function(ctx)
}

func writeResponse(id json.RawMessage, result any, failure error) error {
	head := response{"2.0", id}
	var whole any = resultResponse{head, result}
	if failure != nil {
		fmt.Fprintln(os.Stderr, failure)
		known := rpcError{adapterFailed, failure.Error()}
		errors.As(failure, &known)
		whole = errorResponse{head, known}
	}
	line, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	_, err = answers.Write(append(line, '\n'))
	return err
}
