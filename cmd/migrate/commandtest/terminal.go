package commandtest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Terminal emulates a terminal. It supports the few control sequences that a screen uses.
type Terminal struct {
	mu     sync.Mutex
	lines  []string
	row    int
	writes int
}

// Write implements io.Writer.
func (t *Terminal) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes++
	text := string(data)
	for text != "" {
		var up int
		switch {
		case strings.HasPrefix(text, "\r"):
			text = text[1:]
		case strings.HasPrefix(text, "\x1b[J"):
			t.lines, text = t.lines[:t.row], text[3:]
		case strings.HasPrefix(text, "\x1b[2K"):
			text = text[4:]
		case strings.HasPrefix(text, "\x1b["):
			if _, err := fmt.Sscanf(text, "\x1b[%dA", &up); err != nil {
				return 0, err
			}
			t.row, text = t.row-up, text[strings.Index(text, "A")+1:]
		default:
			line, rest, _ := strings.Cut(text, "\n")
			t.lines = append(t.lines[:t.row], append([]string{line}, t.lines[min(t.row+1, len(t.lines)):]...)...)
			t.row, text = t.row+1, rest
		}
	}
	return len(data), nil
}

// Shown returns the current content.
func (t *Terminal) Shown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

// Await waits until the terminal shows a text.
func (t *Terminal) Await(test *testing.T, text string) {
	test.Helper()
	Await(test, func() bool { return strings.Contains(t.Shown(), text) }, func() string {
		return fmt.Sprintf("%q is not shown, but %q", text, t.Shown())
	})
}

// Count returns the number of writes.
func (t *Terminal) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writes
}

// OnTerminal connects the process to a terminal of this width, with UTF-8 and without colour.
func (c *Console) OnTerminal(width int) *Terminal {
	shown := &Terminal{}
	c.Out = shown
	c.Width = func() int { return width }
	c.Getenv = func(name string) string { return map[string]string{"LANG": "C.UTF-8", "NO_COLOR": "1"}[name] }
	return shown
}
