package plan

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Writers are the other controllers that write the source, as observed in its cluster.
type Writers struct {
	// Read is true when they were read. Trouble says why they could not be read; LacksRight is true when a
	// permission was missing.
	Read       bool
	Trouble    string
	LacksRight bool
	List       []Writer
}

// Writer is a resource whose controller writes the source, or that was paused for the move.
type Writer struct {
	api.WriterReference
	// Found is false for a writer that was recorded and no longer exists.
	Found           bool
	ResourceVersion string
	// Writes is true when it writes the source now. Unconfirmed is the reason that the mark on the source may be
	// wrong about it; empty: it names the source itself.
	Writes      bool
	Unconfirmed string
	// Value is its setting in JSON, empty for none. Pause is the value that pauses it.
	Value, Pause string
	// Mark is the mark that a migration has written on it.
	Mark string
	// Scaler is the HorizontalPodAutoscaler over the source that it created, which continues to scale as long as
	// it exists; empty: there is none.
	Scaler string
}

// String returns the kind, namespace and name, for people.
func (w Writer) String() string {
	return fmt.Sprintf("%s %s/%s", w.Kind, w.Namespace, w.Name)
}

// Paused reports whether its setting is the value that pauses it.
func (w Writer) Paused() bool { return w.Value == w.Pause }

// Pausing describes the write to a writer.
type Pausing struct {
	api.WriterReference
	// Sets is true when the setting is written: to Value, or removed if Value is nil.
	Sets  bool
	Value *string
	// Mark is written on it; empty: the mark is removed.
	Mark string
}
