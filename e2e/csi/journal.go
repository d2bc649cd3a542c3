package csi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const journalFile = "journal.jsonl"

// Call is one call of a driver about a volume or a snapshot.
type Call struct {
	// At is the time of the answer.
	At time.Time `json:"at"`
	// Method is its name in the specification, such as NodeStageVolume.
	Method string `json:"method"`
	// Volume is the handle of the volume; Node is the node of the call.
	Volume string `json:"volume,omitempty"`
	Node   string `json:"node,omitempty"`
	// Snapshot is the handle of the snapshot.
	Snapshot string `json:"snapshot,omitempty"`
	// Code and Message are the result of the call.
	Code    codes.Code `json:"code"`
	Message string     `json:"message,omitempty"`
	// Fault is true if a test injected a fault.
	Fault bool `json:"fault,omitempty"`
}

// about derives a Call from the common fields of the requests and answers of the specification.
func about(method, here string, request, answer any) Call {
	c := Call{At: time.Now(), Method: method, Node: here}
	for _, each := range []any{request, answer} {
		if of, is := each.(interface{ GetSourceVolumeId() string }); is {
			c.Volume = of.GetSourceVolumeId()
		}
		if of, is := each.(interface{ GetVolumeId() string }); is {
			c.Volume = of.GetVolumeId()
		}
		if of, is := each.(interface{ GetSnapshotId() string }); is {
			c.Snapshot = of.GetSnapshotId()
		}
		if of, is := each.(interface{ GetNodeId() string }); is {
			c.Node = of.GetNodeId()
		}
	}
	return c
}

// write appends a call. A call without a volume or a snapshot, such as a probe, is skipped.
func (f *Folder) write(c Call, err error) error {
	if c.Volume == "" && c.Snapshot == "" {
		return nil
	}
	c.Code, c.Message = status.Code(err), status.Convert(err).Message()
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := os.OpenFile(filepath.Join(f.Dir, journalFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// Journal returns all calls about a volume or a snapshot, in the order of their answers.
func (f *Folder) Journal() ([]Call, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, err := os.ReadFile(filepath.Join(f.Dir, journalFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var calls []Call
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		var c Call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, err
		}
		calls = append(calls, c)
	}
	return calls, nil
}

// Refusals returns the calls that were refused because the volume is in use. The user is a second node, a second pod,
// or the node that a detach is for and that still has the volume mounted.
func (f *Folder) Refusals() ([]Call, error) {
	calls, err := f.Journal()
	return slices.DeleteFunc(calls, func(c Call) bool { return c.Code != codes.FailedPrecondition || c.Fault }), err
}
