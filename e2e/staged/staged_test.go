package staged

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/migration/view/viewtest"
)

// TestV12Pictured: the screenshots of the documentation show the engine's current output. If this test fails,
// run make screenshots.
func TestV12Pictured(t *testing.T) {
	var all strings.Builder
	for _, m := range Pictured(t, viewtest.Noon) {
		m.ResourceVersion = "" // it depends on the number of writes
		text, err := yaml.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("---\n" + string(text))
	}
	golden.Compare(t, "pictured.yaml", all.String())
}

// TestMomentIsNow: for any time, the record is of that time, and its moment is the same.
func TestMomentIsNow(t *testing.T) {
	for _, now := range []time.Time{viewtest.Noon, viewtest.Noon.Add(1234567 * time.Millisecond)} {
		m := UnderWay(t, "web", now)
		ago := now.Truncate(time.Second).Sub(m.Status.Handoff.StepTime.Time)
		if m.Status.Handoff.Ordinal != 4 || ago < 6*time.Second || ago > 8*time.Second {
			t.Errorf("at %s ordinal %d is at its step since %s", now, m.Status.Handoff.Ordinal, ago)
		}
	}
}

// TestArrivals: each record counts one more moved ordinal than the previous one, and has a time in the past.
func TestArrivals(t *testing.T) {
	all := Arrivals(t, "web", 4, viewtest.Noon)
	for i, m := range all {
		if m.Status.Moved != int32(i) || m.Status.Handoff.StartTime.After(viewtest.Noon) {
			t.Errorf("record %d has moved %d, at %s", i, m.Status.Moved, m.Status.Handoff.StartTime)
		}
	}
	if len(all) != 4 {
		t.Errorf("it has %d records", len(all))
	}
}
