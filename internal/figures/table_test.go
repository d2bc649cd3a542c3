package figures

import (
	"fmt"
	"strings"
	"testing"
)

// TestTable: a line keeps its commit when another one is written. The line of a removed part is deleted.
func TestTable(t *testing.T) {
	inModule(t, "above\n<!-- figures: written by make verify-model -->\nnothing\n\nMeasured at commit x.\n<!-- end of figures -->\nbelow\n")
	a := Table{
		Target: "verify-model", Head: []string{"world", "faults"}, Numbers: []string{"states", "runs"},
		Parts:    [][]string{{"calm", "0"}, {"any", "1"}, {"any", "10"}},
		Sentence: func(measured, all int, sums []int) string { return fmt.Sprintf("%d of %d: %v.", measured, all, sums) },
	}
	write := func(part []string, numbers ...int) string {
		if err := a.Write(part, numbers...); err != nil {
			t.Fatal(err)
		}
		return read(t)
	}
	write([]string{"any", "10"}, 7, 8)
	got := write([]string{"calm", "0"}, 1, 2)
	for _, want := range []string{
		"above\n", "2 of 3: [8 10]. Each line", "| world | faults | states | runs | commit |\n|---|---|---|---|---|\n",
		"\n| calm | 0 | 1 | 2 | unknown |\n| any | 1 | not measured yet | | |\n| any | 10 | 7 | 8 | unknown |\n", "\nbelow\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it has no %q:\n%s", want, got)
		}
	}
	if !a.Current(got) {
		t.Error("it is not current")
	}
	if a.Parts = a.Parts[1:]; a.Current(got) || strings.Contains(write([]string{"any", "1"}, 3, 4), "calm") {
		t.Error("a part that is not there any more stays")
	}
}
