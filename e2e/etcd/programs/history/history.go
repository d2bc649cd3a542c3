// Package history holds the operations of the demonstration's clients, one a line, and the values that they found at
// the end.
//
// A write sets a register that others write as well. In the same transaction it creates an entry with a unique key.
// The registers show whether all clients saw one order, the entries whether a write is present.
package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// The prefixes of keys.
const (
	Registers = "register/"
	Entries   = "entry/"
)

// Kind is the type of an operation.
type Kind string

// The kinds of operations.
const (
	Write Kind = "write"
	Read  Kind = "read"
)

// Outcome is the result of an operation.
type Outcome string

// The outcomes of operations.
const (
	// OK means that the operation was acknowledged.
	OK Outcome = "ok"
	// Failed means that the operation had no effect. Only a read can be that certain.
	Failed Outcome = "failed"
	// Unknown means that the operation may have had its effect, or may have it later.
	Unknown Outcome = "unknown"
)

// Operation is an operation that a client began.
type Operation struct {
	Client  string    `json:"client"`
	Kind    Kind      `json:"kind"`
	Key     string    `json:"key"`
	Value   string    `json:"value,omitempty"`
	Entry   string    `json:"entry,omitempty"`
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Outcome Outcome   `json:"outcome"`
	Error   string    `json:"error,omitempty"`
}

// Final holds a member's answers to linearizable reads after all clients had ended.
type Final struct {
	Endpoint string `json:"endpoint"`
	// Start and End are the times of the request and of the answer.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Keys are all registers and entries with their values.
	Keys map[string]string `json:"keys"`
}

// Load reads the operations of a file.
func Load(path string) ([]Operation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Decode(file)
}

// Decode reads one operation a line. A line that a killed client did not complete is an error.
func Decode(r io.Reader) ([]Operation, error) {
	var all []Operation
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var op Operation
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(all)+1, err)
		}
		all = append(all, op)
	}
	return all, lines.Err()
}
