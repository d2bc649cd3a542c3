package progress

import (
	"fmt"
	"io"
	"os"
)

// logged is a display that also writes its events to a file.
type logged struct {
	Display
	file   *os.File
	log    printer
	errOut io.Writer
	broken error
}

// WithLog also appends each event to a file, as one JSON object a line. Only this user may read the file, because events
// name objects of the clusters. A move continues without its log; an incomplete log is reported once, at once.
func WithLog(d Display, path string, errOut io.Writer) (Display, error) {
	const private = 0o600
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, private)
	if err != nil {
		return nil, err
	}
	if size, err := file.Seek(0, io.SeekEnd); err == nil && size > 0 {
		_, _ = file.WriteString("\n") // separates a line that a crash has truncated
	}
	l := &logged{Display: d, file: file, errOut: errOut}
	l.log = jsonLines(l)
	return l, nil
}

// Write implements io.Writer. It appends to the file and reports the first error.
func (l *logged) Write(line []byte) (int, error) {
	n, err := l.file.Write(line)
	if err != nil && l.broken == nil {
		l.broken = err
		fmt.Fprintf(l.errOut, "the log is incomplete, and the move continues: %v\n", err)
	}
	return n, err
}

// Show implements Display.
func (l *logged) Show(e Event) {
	l.log(e)
	l.Display.Show(e)
}

// Close implements Display.
func (l *logged) Close() {
	l.Display.Close()
	_ = l.file.Close()
}
