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

// Call is one call of a driver that was about a volume or a snapshot.
type Call struct {
	// At is when it was answered.
	At time.Time `json:"at"`
	// Method is its name in the specification, such as NodeStageVolume.
	Method string `json:"method"`
	// Volume is a handle; Node is the node that it was for.
	Volume string `json:"volume,omitempty"`
	Node   string `json:"node,omitempty"`
	// Snapshot is a handle.
	Snapshot string `json:"snapshot,omitempty"`
	// Code is how it ended, Message why.
	Code    codes.Code `json:"code"`
	Message string     `json:"message,omitempty"`
	// Fault: a test wanted it so.
	Fault bool `json:"fault,omitempty"`
}

// about says what a call is about, by the fields that requests and answers of the specification have in common.
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

// write appends a call. What is about nothing, such as a probe, is not kept.
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

// Journal are all calls that were about a volume or a snapshot, in the order of their answers.
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

// Refusals are the calls that were refused because of who else has the volume: a second node, a second pod, or a
// node that has it mounted while it is to be taken away.
func (f *Folder) Refusals() ([]Call, error) {
	calls, err := f.Journal()
	return slices.DeleteFunc(calls, func(c Call) bool { return c.Code != codes.FailedPrecondition || c.Fault }), err
}
