package plan

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Writers are who else writes the source, as they were seen in its cluster.
type Writers struct {
	// Read is true when they were looked at, and Trouble says why they could not be; LacksRight is true
	// when it was for want of a right.
	Read       bool
	Trouble    string
	LacksRight bool
	List       []Writer
}

// Writer is a resource whose controller writes the source, or that was paused for the move.
type Writer struct {
	api.WriterReference
	// Found is false for one that was recorded, and is gone.
	Found           bool
	ResourceVersion string
	// Writes is true where it writes the source now. Unconfirmed says why it may not be what its mark on the source says;
	// empty: it names the source itself.
	Writes      bool
	Unconfirmed string
	// Value is its setting in JSON, empty for none; Pause is the value that pauses it.
	Value, Pause string
	// Mark is what a migration has written on it.
	Mark string
	// Scaler is the HorizontalPodAutoscaler over the source that it has made, which scales on for as long as it is there;
	// empty: there is none.
	Scaler string
}

// String names it, for people.
func (w Writer) String() string {
	return fmt.Sprintf("%s %s/%s", w.Kind, w.Namespace, w.Name)
}

// Paused says whether its setting is the one that pauses it.
func (w Writer) Paused() bool { return w.Value == w.Pause }

// Pausing is what a write of a writer is about.
type Pausing struct {
	api.WriterReference
	// Sets is true when the setting is written: Value, or none where that is nil.
	Sets  bool
	Value *string
	// Mark is written on it; empty: it is taken off.
	Mark string
}
