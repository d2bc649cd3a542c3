package versions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/e2e/built"
)

// TestY13Span: a range has its first and its last version, and all between them.
func TestY13Span(t *testing.T) {
	for _, row := range []struct {
		span Span
		has  []uint
		text string
	}{
		{Span{}, []uint{34, 35, 36, 37}, "all"},
		{Span{Since: 36}, []uint{36, 37}, "from 1.36 on"},
		{Span{Until: 36}, []uint{34, 35, 36}, "up to 1.36"},
		{Span{Since: 35, Until: 36}, []uint{35, 36}, "1.35 to 1.36"},
	} {
		var has []uint
		for minor := uint(34); minor < 38; minor++ {
			if row.span.Has(minor) {
				has = append(has, minor)
			}
		}
		if diff := cmp.Diff(row.has, has); diff != "" || row.span.String() != row.text {
			t.Errorf("%s, want %s: -want +got\n%s", row.span, row.text, diff)
		}
	}
}

// TestY13WithoutPodResources: each version disables only the gates that it has.
func TestY13WithoutPodResources(t *testing.T) {
	for minor, want := range map[uint]int{34: 1, 35: 1, 36: 2, 37: 4} {
		if got := WithoutPodResources(minor); len(got) != want || got[0] != "PodLevelResources=false" {
			t.Errorf("1.%d: %v", minor, got)
		}
	}
}

// TestY13Installed: the page for users lists each version with its tests, and with the expectations that differ.
func TestY13Installed(t *testing.T) {
	root, err := built.Module()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, v := range all {
		want = append(want, rowOf(v))
	}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| 1.") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/install.md (-want +got):\n%s", diff)
	}
}

// rowOf returns the row of a version in the table of docs/install.md.
func rowOf(v Version) string {
	tests, gate, bounded := "roll-outs and moves, one for each promise", "alpha and off", "not bounded"
	if v.Default {
		tests = "all"
	}
	switch {
	case MaxUnavailableOn.Has(v.Minor()):
		gate = "on"
	case MaxUnavailableBeta.Has(v.Minor()):
		gate = "beta and off"
	}
	if ImpersonationBounded.Has(v.Minor()) {
		bounded = "bounded"
	}
	return fmt.Sprintf("| %s | %s | `MaxUnavailableStatefulSet` is %s. Impersonation is %s |", v.Number, tests, gate, bounded)
}
