package steady

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// The prefixes of the keys of etcd. A write sets a register that others write as well. In the same transaction it creates
// an entry with a unique key. The registers show whether all clients saw one order, the entries whether a write is present.
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
	Client string `json:"client"`
	Kind   Kind   `json:"kind"`
	// Key is the register, empty where there are none. Entry is the unique key of a write.
	Key     string    `json:"key,omitempty"`
	Value   string    `json:"value,omitempty"`
	Entry   string    `json:"entry,omitempty"`
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Outcome Outcome   `json:"outcome"`
	Error   string    `json:"error,omitempty"`
}

// Ended returns the operation with its end. A write that failed may still have its effect: it may have reached another
// member before.
func (o Operation) Ended(err error) Operation {
	o.End, o.Outcome = time.Now(), OK
	if err != nil {
		o.Error, o.Outcome = err.Error(), Failed
		if o.Kind == Write {
			o.Outcome = Unknown
		}
	}
	return o
}

// Final holds the answers of one member, or of one copy of the data, after all clients had ended.
type Final struct {
	Endpoint string `json:"endpoint"`
	// Start and End are the times of the request and of the answer; only for linearizable reads.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Keys are all registers and entries with their values.
	Keys map[string]string `json:"keys"`
}

// Load reads the operations of a file, one a line. A line that a killed client did not complete is an error.
func Load(path string) ([]Operation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []Operation
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var op Operation
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, len(all)+1, err)
		}
		all = append(all, op)
	}
	return all, lines.Err()
}
