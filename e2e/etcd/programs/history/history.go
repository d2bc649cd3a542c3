// Package history is what the clients of the demonstration did, one operation a line, and
// what they found in the end.
//
// A write puts its value into a register that others write as well and, in the same
// transaction, leaves an entry that nobody else ever writes: the registers show whether
// everybody saw one order, the entries whether a write is there.
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

// Kind is what an operation does.
type Kind string

// The kinds of operations.
const (
	Write Kind = "write"
	Read  Kind = "read"
)

// Outcome is how an operation ended.
type Outcome string

// The outcomes of operations.
const (
	// OK was acknowledged.
	OK Outcome = "ok"
	// Failed had no effect: only a read is that certain.
	Failed Outcome = "failed"
	// Unknown may have had its effect, or may have it later.
	Unknown Outcome = "unknown"
)

// Operation is one that a client began.
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

// Final is what one member answered when all clients had ended, to linearizable reads.
type Final struct {
	Endpoint string `json:"endpoint"`
	// Start and End are when it was asked and when it had answered.
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

// Decode reads one operation a line. What a client was writing when it was killed is not
// there in whole: it is an error.
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
