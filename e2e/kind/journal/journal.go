// Package journal defines the journal that a replica of the workload keeps on its volume: one line a second. Each line
// is numbered and tied to the previous line by a checksum. So a line that is lost, changed, doubled or written by
// another process is found.
//
//	3 tick web-1 0c6f...-uid east-worker 2026-01-02T03:04:05.678Z 9f86d081884c7d65
//	│ │    │     │           │           │                        └ over this line and the sum before
//	│ │    │     │           │           └ time
//	│ │    │     │           └ node
//	│ │    │     └ uid of the pod: one pod is one run, and never runs again
//	│ │    └ pod
//	│ └ the event
//	└ number, without a gap
package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Note is the event that a line records.
type Note string

// The events.
const (
	// Seed is the first line. It names the owner of the journal before any pod has run.
	Seed Note = "seed"
	// Start is written when a container starts.
	Start Note = "start"
	// Tick is written every second.
	Tick Note = "tick"
	// Drain and Drained mark the beginning and the end of the preStop hook.
	Drain   Note = "drain"
	Drained Note = "drained"
	// Stop is the last line of a container that received a signal to end.
	Stop Note = "stop"
)

// DrainFor returns Drain with the reason that the hook read, if any.
func DrainFor(reason string) Note {
	if reason == "" {
		return Drain
	}
	return Drain + ":" + Note(reason)
}

// Writer identifies the writer of a line.
type Writer struct {
	Pod, UID, Node string
}

// Record is one line.
type Record struct {
	Number int
	Note   Note
	Writer
	Time time.Time
	Sum  string
}

// First returns the line that turns an empty file into the journal of a pod.
func First(pod string, at time.Time) Record {
	return Record{Note: Seed, Writer: Writer{Pod: pod, UID: "-", Node: "-"}, Time: at}.summed("")
}

// Next returns the line after r.
func (r Record) Next(note Note, by Writer, at time.Time) Record {
	return Record{Number: r.Number + 1, Note: note, Writer: by, Time: at}.summed(r.Sum)
}

func (r Record) body() string {
	return fmt.Sprintf("%d %s %s %s %s %s", r.Number, r.Note, r.Pod, r.UID, r.Node, r.Time.UTC().Format(time.RFC3339Nano))
}

func (r Record) summed(before string) Record {
	sum := sha256.Sum256([]byte(before + " " + r.body()))
	r.Sum = hex.EncodeToString(sum[:])[:16]
	return r
}

// String returns the line, without its end.
func (r Record) String() string { return r.body() + " " + r.Sum }

// parse parses one line.
func parse(line string) (Record, error) {
	fields := strings.Split(line, " ")
	if len(fields) != 7 {
		return Record{}, fmt.Errorf("%d fields", len(fields))
	}
	number, err := strconv.Atoi(fields[0])
	if err != nil {
		return Record{}, err
	}
	at, err := time.Parse(time.RFC3339Nano, fields[5])
	if err != nil {
		return Record{}, err
	}
	return Record{
		Number: number, Note: Note(fields[1]), Writer: Writer{Pod: fields[2], UID: fields[3], Node: fields[4]}, Time: at, Sum: fields[6],
	}, nil
}
