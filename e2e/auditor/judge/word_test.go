package judge

import (
	"testing"
	"time"
)

// TestWord: the move must follow the author's latest form. Ordinals that it already holds down at that time do not
// count against it, and its own forms change nothing.
func TestWord(t *testing.T) {
	begin := time.Unix(1000, 0)
	by := func(manager string, n int32) DisruptionBudget {
		b := makeBudget("web", n, 0)
		b.WrittenBy = manager
		return b
	}
	var w *Word
	w = w.Follow(by("kubectl", 2), 5, begin)
	if own := w.Follow(by("", 0), 5, begin.Add(time.Hour)); own != w {
		t.Errorf("a form of the move is taken for the author's: %+v", own)
	}
	if again := w.Follow(by("flux", 2), 5, begin.Add(time.Hour)); again != w {
		t.Errorf("the same form is taken for another one: %+v", again)
	}
	w = w.Follow(by("kubectl", 1), 5, begin.Add(time.Minute))
	at := func(after time.Duration, allowed int32, held ...int32) bool {
		return w.Breaks(BudgetVerdict{Held: held, Allowed: allowed}, w.At.Add(after))
	}
	for _, step := range []struct {
		name string
		got  bool
		want bool
	}{
		{"one was down already", at(time.Second, 1, 4), false},
		{"and still is", at(30*time.Second, 1, 4), false},
		{"it is up, and evictions are allowed", at(31*time.Second, 2), false},
		{"it is stopped again", at(32*time.Second, 1, 4), true},
		{"another one is stopped, and nothing is allowed", at(33*time.Second, 0, 3), false},
		{"another one is stopped, and one more may go", at(34*time.Second, 1, 3), true},
		{"long afterwards too many may go", at(2*time.Minute, 2), true},
	} {
		if step.got != step.want {
			t.Errorf("%s: broken %t", step.name, step.got)
		}
	}
}
