package measure

import (
	"fmt"
	"io"
	"time"
)

// Progress prints the progress of a run.
type Progress struct {
	// Out receives the lines.
	Out   io.Writer
	begin time.Time
}

// NewProgress starts a run.
func NewProgress(to io.Writer) *Progress { return &Progress{Out: to, begin: time.Now()} }

// Say prints a line of progress.
func (p *Progress) Say(format string, args ...any) {
	fmt.Fprintf(p.Out, "%5.1f s  %s\n", p.Seconds(), fmt.Sprintf(format, args...))
}

// Seconds returns how long the run has taken so far.
func (p *Progress) Seconds() float64 { return time.Since(p.begin).Seconds() }
