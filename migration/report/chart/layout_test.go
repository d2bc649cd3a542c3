package chart

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestLongLabels: a label never reaches the bars, whatever its length, and a short one is whole.
func TestLongLabels(t *testing.T) {
	begin := time.Unix(0, 0)
	for _, length := range []int{1, 15, 41, 42, 43, 60, 127} {
		label := strings.Repeat("n", length)
		v := layout(Chart{Begin: begin, End: begin.Add(time.Hour), Lanes: []Lane{{Label: label}}})
		r := v.Rows[0]
		if ends := 8 + letter*float64(utf8.RuneCountInString(r.Label)); ends > v.Left {
			t.Errorf("a label of %d letters ends at %.0f, the bars begin at %.0f", length, ends, v.Left)
		}
		if whole := r.Label == label; whole != (length <= 42) || !whole && !strings.Contains(r.Label, "…") {
			t.Errorf("a label of %d letters is %q", length, r.Label)
		}
	}
}

// TestHundredsOfSets: each of hundreds of applications has a label, which is no taller than its lane. Ordinals have one where
// it is readable. A marked one has a sign.
func TestHundredsOfSets(t *testing.T) {
	begin := time.Unix(0, 0)
	for _, n := range []int{1, 50, 75, 200, 1000} {
		c := Chart{Begin: begin, End: begin.Add(time.Hour), Lanes: make([]Lane, n)}
		c.Lanes[n-1] = Lane{Label: "web", Mark: "Stalled"}
		v := layout(c)
		each := (v.LanesBottom - v.LanesTop) / float64(n)
		written := 0
		for _, r := range v.Rows {
			if r.LabelIsWritten {
				written++
			}
		}
		if v.IsTall() != (n > 40) {
			t.Errorf("of %d, the times are above them: %t", n, v.IsTall())
		}
		if written != n || v.Text > each || v.Rows[n-1].Label != "! web" {
			t.Errorf("of %d, %d have a label, of %.1f in %.1f; the last one is %q", n, written, v.Text, each, v.Rows[n-1].Label)
		}
		c.Replicas = int32(n)
		if v := layout(c); n > 100 && (v.LanesBottom-topEdge > max(mostLanes, lowLane*float64(n))+1 || v.Rows[1].LabelIsWritten) {
			t.Errorf("%d ordinals end at %.0f", n, v.LanesBottom)
		}
	}
}

// TestLegend: the names of long clusters do not reach the next entry.
func TestLegend(t *testing.T) {
	begin, long := time.Unix(0, 0), strings.Repeat("cluster-", 20)
	for _, planned := range []*Span{nil, {From: begin, To: begin.Add(time.Minute)}} {
		v := layout(Chart{Begin: begin, End: begin.Add(time.Hour), Source: long, Destination: long, Lanes: []Lane{{Planned: planned}}})
		room := sourceRoom
		if planned != nil {
			room = sourceRoomShort
		}
		if width := letter * float64(utf8.RuneCountInString(v.Source)); width > room || letter*float64(utf8.RuneCountInString(v.Destination)) > targetRoom {
			t.Errorf("planned %v: %q and %q", planned, v.Source, v.Destination)
		}
	}
}

// TestPlanned: the planned time is above the real one, in the same lane.
func TestPlanned(t *testing.T) {
	begin := time.Unix(0, 0)
	at := func(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }
	v := layout(Chart{Begin: begin, End: at(60), Lanes: []Lane{{Planned: &Span{From: at(0), To: at(30)}, Spans: []Span{{From: at(30), To: at(60), Place: AtDestination}}}}})
	r := v.Rows[0]
	plan, actual := r.Planned, r.Bars[0]
	if plan.Y+plan.Height > actual.Y || actual.Y+actual.Height > r.Y+r.Height+1e-9 || plan.X+plan.Width > actual.X+1e-9 || !v.Plans {
		t.Errorf("planned %+v, real %+v, row %+v", *plan, actual, r)
	}
	if v := layout(Chart{Begin: begin, End: at(60), Lanes: []Lane{{Spans: []Span{{From: at(0), To: at(60), Place: AtSource}}}}}); v.Plans || v.Rows[0].Bars[0].Height != v.Rows[0].Height {
		t.Errorf("without a plan: %+v", v.Rows[0])
	}
}
