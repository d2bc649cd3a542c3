package view

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// Outage is how long the next ordinal is expected to be down, in consecutive parts. Its soak is not part of it.
type Outage struct {
	Seconds float64 `json:"seconds"`
	// Parts are stop, detach, carry, copy and start; copy only if a last pass was measured.
	Parts []OutagePart `json:"parts"`
	// Measured is how many handoffs the parts are the medians of. 0 means that they are assumed.
	Measured int `json:"measured"`
	// Rehearsed is how many pods of a rehearsal the part start is the median of, while no handoff was measured.
	Rehearsed int `json:"rehearsed,omitempty"`
	// Text is all of this as text for the user.
	Text string `json:"text"`
}

// OutagePart is one part of an outage.
type OutagePart struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// OutageOf returns the expected outage of an ordinal. copies is true if its volumes are copied: the last pass is then
// added once it was measured.
func OutageOf(expected volumes.Outage, copies bool) *Outage {
	o := &Outage{Seconds: Exact(expected.Lasts()), Measured: expected.Measured, Rehearsed: expected.Rehearsed}
	for _, part := range expected.Parts() {
		o.Parts = append(o.Parts, OutagePart{part.Name, Exact(part.Lasts)})
	}
	o.Text = fmt.Sprintf("about %s: %s", volumes.Brief(expected.Lasts()), expected)
	if copies && expected.Copy == 0 {
		o.Text += "; and the last pass of its copy"
	}
	return o
}

// expectedOutage returns the outage that the next ordinal of a migration is expected to have.
func expectedOutage(m *api.Migration) *Outage {
	copies := false
	for _, v := range m.VolumesAsAccepted() {
		copies = copies || v.Method == api.MethodCopy
	}
	return OutageOf(volumes.OutageOf(m.Status.History, m.Status.Fence.Heading()), copies)
}
