package printable

import (
	"io"
	"slices"
	"sync"
	"unicode/utf8"
)

// Writer is the last gate before a terminal, a file or a pipe: what is written to it is Coloured.
type Writer struct {
	mu   sync.Mutex
	out  io.Writer
	rest []byte
}

// NewWriter returns the gate before a writer; of a gate it is that one.
func NewWriter(out io.Writer) io.Writer {
	if gate, is := out.(*Writer); is {
		return gate
	}
	return &Writer{out: out}
}

// Behind is the writer behind a gate, for what draws on a terminal and gates each text by itself.
func Behind(out io.Writer) io.Writer {
	if gate, is := out.(*Writer); is {
		return gate.out
	}
	return out
}

// Write implements io.Writer. A rune whose bytes come in two parts is written with the second one.
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

// complete is how many bytes of a text are whole runes.
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
