package decide

import (
	"strings"
	"testing"
)

// TestRangeWarning: a range that moves by more ordinals than it keeps causes a warning. Scaling does not.
func TestRangeWarning(t *testing.T) {
	deleting := func(in *Input) { in.Spec.Deleting = true }
	for _, c := range []struct {
		name string
		in   Input
		want string
	}{
		{"U-09 nothing stays", slice(3, "a a a").moved(5), "3 ordinals are given up and 3 begun in one step, and 0 stay"},
		{"U-09 one of three stays", slice(3, "a a a").moved(2), "2 ordinals are given up and 2 begun in one step, and 1 stay"},
		{"U-09 two of three stay", slice(3, "a a a").moved(1), ""},
		{"U-09 as many stay as go", slice(4, "a a a a").moved(2), ""},
		{"U-09 a scale-down", slice(1, "a a a a"), ""},
		{"U-09 a scale-up", slice(4, "a"), ""},
		{"U-09 a new set", slice(3, ""), ""},
		{"U-09 those that go are on their way", slice(3, "at at at").moved(5), ""},
		{"U-09 it goes as a whole", slice(3, "a a a", deleting).moved(5), ""},
		{"U-09 stand-ins", slice(2, "a a b b", surge(2)), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Decide(c.in).RangeWarning
			if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// moved returns the input after its range was moved to another start.
func (in Input) moved(start int32) Input {
	in.Spec.Start = start
	return in
}
