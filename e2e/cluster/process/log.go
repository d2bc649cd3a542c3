package process

import (
	"bytes"
	"os"
	"regexp"
)

// Bounds of the excerpt of a log.
const (
	panicLines = 40
	lastLines  = 10
)

// crash matches the first line of a crash report of the Go runtime.
var crash = regexp.MustCompile(`(?m)^(panic|fatal error|SIG[A-Z]+): `)

// LastLines returns the lines that best explain why the process ended. It excludes the logs of earlier runs of the
// role.
func (p *Process) LastLines() string {
	content, err := os.ReadFile(p.logFile)
	if err != nil {
		return err.Error()
	}
	return excerpt(content[min(p.logStart, int64(len(content))):])
}

// excerpt returns the beginning of the last panic in a log, or the last lines if there is no panic.
func excerpt(log []byte) string {
	if found := crash.FindAllIndex(log, -1); len(found) > 0 {
		lines := bytes.SplitAfterN(log[found[len(found)-1][0]:], []byte("\n"), panicLines+1)
		return string(bytes.TrimSpace(bytes.Join(lines[:min(panicLines, len(lines))], nil)))
	}
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-lastLines):], []byte("\n")))
}
