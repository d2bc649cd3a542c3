package built

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// counter reports how far a build is. It reads the standard error of go build -v, which names each package that is
// compiled.
type counter struct {
	to    io.Writer
	clock clock.PassiveClock
	// all is the number of packages to compile, and done that of packages that were begun.
	all, done int
	begin     time.Time
	last      time.Time
	// rest is the beginning of a line.
	rest []byte
}

// every is the time from one report to the next.
const every = 15 * time.Second

func newCounter(to io.Writer, at clock.PassiveClock, all int) *counter {
	return &counter{to: to, clock: at, all: all, begin: at.Now(), last: at.Now()}
}

// Write counts the packages of whole lines.
func (c *counter) Write(text []byte) (int, error) {
	c.rest = append(c.rest, text...)
	for {
		line, rest, found := bytes.Cut(c.rest, []byte("\n"))
		if !found {
			return len(text), nil
		}
		c.rest = rest
		c.line(string(line))
	}
}

func (c *counter) line(line string) {
	if line == "" || strings.HasPrefix(line, "#") || strings.Contains(line, " ") {
		return // a complaint
	}
	c.done++
	now := c.clock.Now()
	if now.Sub(c.last) < every {
		return
	}
	c.last = now
	fmt.Fprintf(c.to, "  %d of %d packages, %s left\n", min(c.done, c.all), c.all, c.left(now))
}

// left estimates the remaining time from the packages so far, in minutes.
func (c *counter) left(now time.Time) string {
	remains := now.Sub(c.begin) / time.Duration(c.done) * time.Duration(max(c.all-c.done, 0))
	if remains < time.Minute {
		return "less than a minute"
	}
	return fmt.Sprintf("about %d min", int(remains.Round(time.Minute)/time.Minute))
}
