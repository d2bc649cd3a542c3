package harness

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/internal/figures"
)

// figuresVariable is set by the make targets whose figures the documentation shows.
const figuresVariable = "SLICESHIFT_FIGURES"

// WantsFigures reports whether a long run writes its figures into the documentation.
func WantsFigures() bool { return os.Getenv(figuresVariable) != "" }

// WriteFigures writes the figures of a long run into the page of figures, when they are wanted and nothing has failed.
func WriteFigures(t *testing.T, target, text string) {
	t.Helper()
	if !WantsFigures() || t.Failed() {
		return
	}
	if err := figures.Write(target, text); err != nil {
		t.Fatal(err)
	}
}

// FromEnvironment is the number in a variable, or another one where it is not set.
func FromEnvironment(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < 0 {
		t.Fatalf("%s=%s is no number", name, text)
	}
	return value
}

// Sleep waits for a span of the world's time: how long a fault lasts.
func Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
