package slicetest

import (
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// Heard is an event recorder that keeps the text of events.
type Heard struct {
	mu    sync.Mutex
	Lines []string
}

// Eventf implements events.EventRecorder.
func (h *Heard) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Lines = append(h.Lines, kind+" "+reason+": "+fmt.Sprintf(note, args...))
}

// Has reports whether an event of a reason was recorded.
func (h *Heard) Has(reason string) bool {
	for _, line := range h.Lines {
		if strings.Contains(line, reason+":") {
			return true
		}
	}
	return false
}
