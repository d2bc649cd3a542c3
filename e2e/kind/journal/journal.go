// Package journal is what a replica of the workload keeps on its volume: one line a
// second, each numbered and tied to the line before by a checksum, so that a line that is
// lost, changed, doubled or written by somebody else is found.
//
//	3 tick web-1 0c6f...-uid east-worker 2026-01-02T03:04:05.678Z 9f86d081884c7d65
//	│ │    │     │           │           │                        └ over this line and the sum before
//	│ │    │     │           │           └ time
//	│ │    │     │           └ node
//	│ │    │     └ uid of the pod: one pod is one run, and never comes back
//	│ │    └ pod
//	│ └ what is noted
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

// Note says what a line tells.
type Note string

// What lines tell.
const (
	// Seed is the first line: it says whose journal this is before any pod has run.
	Seed Note = "seed"
	// Start is written when a container starts.
	Start Note = "start"
	// Tick is written every second.
	Tick Note = "tick"
	// Drain and Drained are where the preStop hook begins and ends.
	Drain   Note = "drain"
	Drained Note = "drained"
	// Stop is the last line of a container that was asked to end.
	Stop Note = "stop"
)

// DrainFor is Drain with the reason that the hook read, if it read any.
func DrainFor(reason string) Note {
	if reason == "" {
		return Drain
	}
	return Drain + ":" + Note(reason)
}

// Writer is who writes a line.
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

// First is the line that makes an empty file the journal of a pod.
func First(pod string, at time.Time) Record {
	return Record{Note: Seed, Writer: Writer{Pod: pod, UID: "-", Node: "-"}, Time: at}.summed("")
}

// Next is the line after r.
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

// String is the line, without its end.
func (r Record) String() string { return r.body() + " " + r.Sum }

// parse reads one line.
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
