package printable

import (
	"io"
	"slices"
	"sync"
	"unicode/utf8"
)

// Writer applies Coloured to everything that is written to a terminal, a file or a pipe.
type Writer struct {
	mu   sync.Mutex
	out  io.Writer
	rest []byte
}

// NewWriter returns a Writer for out. If out is a Writer already, it returns out.
func NewWriter(out io.Writer) io.Writer {
	if gate, is := out.(*Writer); is {
		return gate
	}
	return &Writer{out: out}
}

// Behind returns the writer below a Writer, for code that draws on a terminal and escapes each text itself.
func Behind(out io.Writer) io.Writer {
	if gate, is := out.(*Writer); is {
		return gate.out
	}
	return out
}

// Write implements io.Writer. A rune that is split between two calls is written with the second one.
func (w *Writer) Write(part []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := slices.Concat(w.rest, part)
	whole := complete(text)
	w.rest = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(w.out, Coloured(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(part), nil
}

// complete returns the number of bytes that form whole runes.
func complete(text []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		at := len(text) - back
		if utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}
