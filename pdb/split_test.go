package pdb

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

func unavailable(s string) Form {
	value := intstr.Parse(s)
	return Form{MaxUnavailable: &value}
}

func available(s string) Form {
	value := intstr.Parse(s)
	return Form{MinAvailable: &value}
}

func TestBudget(t *testing.T) {
	for name, tc := range map[string]struct {
		form     Form
		replicas int32
		want     int32
	}{
		"one":                              {unavailable("1"), 3, 1},
		"none":                             {unavailable("0"), 3, 0},
		"more than there are":              {unavailable("7"), 3, 3},
		"no replicas":                      {unavailable("1"), 0, 0},
		"a third of 3":                     {unavailable("33%"), 3, 1},
		"a third of 4, rounded up":         {unavailable("33%"), 4, 2},
		"a tenth of 5, rounded up":         {unavailable("10%"), 5, 1},
		"all":                              {unavailable("100%"), 4, 4},
		"no percent":                       {unavailable("0%"), 4, 0},
		"two must stay":                    {available("2"), 3, 1},
		"all must stay":                    {available("3"), 3, 0},
		"more must stay than there are":    {available("5"), 3, 0},
		"none must stay":                   {available("0"), 3, 3},
		"half must stay, rounded up":       {available("50%"), 5, 2},
		"a percent must stay, rounded up":  {available("1%"), 5, 4},
		"every percent must stay":          {available("100%"), 5, 0},
		"neither":                          {Form{}, 3, 0},
		"a share as a migration writes it": {Unavailable(2), 5, 2},
		"what must stay, of a migration":   {Available(4), 5, 1},
		"what must stay was of more":       {Available(5), 4, 0},
		"a number beyond what can be had":  {unavailable("2147483647"), 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Budget(tc.form, tc.replicas); err != nil || got != tc.want {
				t.Errorf("Budget(%s, %d) = %d, %v; want %d", tc.form, tc.replicas, got, err, tc.want)
			}
		})
	}
}

func TestBudgetMalformed(t *testing.T) {
	for _, form := range []Form{unavailable("many"), unavailable("%"), available("1.5%"), available("half")} {
		if got, err := Budget(form, 3); err == nil || got != 0 {
			t.Errorf("Budget(%s, 3) = %d, %v; want 0 and an error", form, got, err)
		}
	}
}

// TestBudgetIsWhatKubernetesAllows compares Budget with the disruption controller, which computes the pods that must
// remain (getExpectedPodCount) and rounds separately.
func TestBudgetIsWhatKubernetesAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		replicas := rapid.Int32Range(0, 50).Draw(t, "replicas")
		percent := rapid.Int32Range(0, 100).Draw(t, "percent")
		number := rapid.Int32Range(0, 60).Draw(t, "number")
		percentOf := (replicas*percent + 99) / 100
		share := intstr.FromString(fmt.Sprintf("%d%%", percent))
		whole := intstr.FromInt32(number)
		for _, tc := range []struct {
			form  Form
			stays int32
		}{
			{Form{MaxUnavailable: &whole}, replicas - number},
			{Form{MaxUnavailable: &share}, replicas - percentOf},
			{Form{MinAvailable: &whole}, number},
			{Form{MinAvailable: &share}, percentOf},
		} {
			want := max(0, replicas-max(0, tc.stays))
			if got, err := Budget(tc.form, replicas); err != nil || got != want {
				t.Fatalf("Budget(%s, %d) = %d, %v; Kubernetes allows %d", tc.form, replicas, got, err, want)
			}
		}
	})
}

func TestSplit(t *testing.T) {
	for name, tc := range map[string]struct {
		d, inFlight int32
		size, want  Share
	}{
		"all at the source":             {1, 0, Share{3, 0}, Share{1, 0}},
		"all at the destination":        {1, 0, Share{0, 3}, Share{0, 1}},
		"one of three has moved":        {1, 0, Share{2, 1}, Share{1, 0}},
		"two of three have moved":       {1, 0, Share{1, 2}, Share{0, 1}},
		"halves: the source first":      {1, 0, Share{2, 2}, Share{1, 0}},
		"d is used up by the handoff":   {1, 1, Share{2, 0}, Share{0, 0}},
		"a handoff with d 2":            {2, 1, Share{3, 1}, Share{1, 0}},
		"one each":                      {2, 0, Share{2, 2}, Share{1, 1}},
		"larger remainder first":        {3, 0, Share{3, 2}, Share{2, 1}},
		"d beyond the replicas":         {9, 0, Share{2, 1}, Share{2, 1}},
		"no replicas":                   {2, 0, Share{0, 0}, Share{0, 0}},
		"more in flight than allowed":   {1, 2, Share{2, 1}, Share{0, 0}},
		"large numbers do not overflow": {1 << 30, 0, Share{1 << 30, 1 << 30}, Share{1 << 29, 1 << 29}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Split(tc.d, tc.inFlight, tc.size); got != tc.want {
				t.Errorf("Split(%d, %d, %v) = %v, want %v", tc.d, tc.inFlight, tc.size, got, tc.want)
			}
		})
	}
}

func TestSplitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Int32Range(0, 12).Draw(t, "d")
		inFlight := rapid.Int32Range(0, 2).Draw(t, "in flight")
		size := Share{rapid.Int32Range(0, 20).Draw(t, "source"), rapid.Int32Range(0, 20).Draw(t, "destination")}
		got := Split(d, inFlight, size)
		total := size.Source + size.Destination
		all := max(0, min(d-inFlight, total))
		switch {
		case got.Source+got.Destination != all:
			t.Fatalf("%v adds up to %d, want %d", got, got.Source+got.Destination, all)
		case got.Source < 0 || got.Destination < 0 || got.Source > size.Source || got.Destination > size.Destination:
			t.Fatalf("%v is not within %v", got, size)
		case got != Split(d, inFlight, size):
			t.Fatal("not the same again")
		case size.Source >= size.Destination && got.Source < got.Destination, size.Source < size.Destination && got.Source > got.Destination:
			t.Fatalf("%v of %v: the smaller slice got more", got, size)
		case got.Source*total-all*size.Source >= total && total > 0, all*size.Source-got.Source*total >= total && total > 0:
			t.Fatalf("%v of %v is a whole one away from the proportion", got, size)
		}
	})
}

func TestFormString(t *testing.T) {
	for want, form := range map[string]Form{
		"maxUnavailable 1":                        Unavailable(1),
		"minAvailable 2":                          Available(2),
		"minAvailable 50%":                        available("50%"),
		"maxUnavailable 10%":                      unavailable("10%"),
		"neither minAvailable nor maxUnavailable": {},
	} {
		if got := form.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if !unavailable("1").Equal(Unavailable(1)) || Unavailable(1).Equal(Available(1)) || unavailable("1%").Equal(Unavailable(1)) {
		t.Error("Equal does not compare word for word")
	}
}

// TestParse: Parse returns the form that String wrote, and nil for any other text.
func TestParse(t *testing.T) {
	for _, form := range []Form{Unavailable(0), Unavailable(1), Available(2), available("50%"), unavailable("10%")} {
		if got := Parse(form.String()); got == nil || !got.Equal(form) {
			t.Errorf("%s is read as %v", form, got)
		}
	}
	for _, text := range []string{"", "maxUnavailable", "maxUnavailable ", "minAvailable ", " 1", "replicas 1", Form{}.String()} {
		if got := Parse(text); got != nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}
