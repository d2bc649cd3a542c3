package cases

import (
	"slices"
	"testing"
)

func TestSharesAreAllCasesOnce(t *testing.T) {
	all := []string{"TestE", "TestB", "TestD", "TestA", "TestC"}
	var shared []string
	for _, asked := range []string{"1/2", "2/2"} {
		chosen, err := share(all, asked)
		if err != nil {
			t.Fatal(err)
		}
		shared = append(shared, chosen...)
	}
	slices.Sort(shared)
	if want := slices.Sorted(slices.Values(all)); !slices.Equal(shared, want) {
		t.Errorf("the shares have %v, want %v", shared, want)
	}
}

func TestShareIsRefused(t *testing.T) {
	for _, asked := range []string{"0/2", "3/2", "1/9", "a/2", "/"} {
		if chosen, err := share([]string{"TestA", "TestB"}, asked); err == nil {
			t.Errorf("%s is %v, want an error", asked, chosen)
		}
	}
}

func TestAllCasesWithoutShare(t *testing.T) {
	if chosen, err := share([]string{"TestA", "TestB"}, "1"); err != nil || len(chosen) != 2 {
		t.Errorf("got %v, %v, want both", chosen, err)
	}
}
