package process

import (
	"bytes"
	"os"
	"regexp"
)

// Bounds of what is kept of a log.
const (
	panicLines = 40
	lastLines  = 10
)

// crash matches the line with which the report of the Go runtime begins.
var crash = regexp.MustCompile(`(?m)^(panic|fatal error|SIG[A-Z]+): `)

// LastLines returns what says best why the process ended. What earlier runs of
// the role have logged is not among it.
func (p *Process) LastLines() string {
	content, err := os.ReadFile(p.logFile)
	if err != nil {
		return err.Error()
	}
	return excerpt(content[min(p.logStart, int64(len(content))):])
}

// excerpt returns the beginning of the last panic in a log, or its last lines if
// there is none.
func excerpt(log []byte) string {
	if found := crash.FindAllIndex(log, -1); len(found) > 0 {
		lines := bytes.SplitAfterN(log[found[len(found)-1][0]:], []byte("\n"), panicLines+1)
		return string(bytes.TrimSpace(bytes.Join(lines[:min(panicLines, len(lines))], nil)))
	}
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-lastLines):], []byte("\n")))
}
