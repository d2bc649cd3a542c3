package queue

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Spot is a position in line.
type Spot struct {
	// nth is 0 for a Migration that need not wait.
	nth, waiting int
	// active is how many have a slot, and most how many may. They refer to a namespace if its share is used up.
	active, most int
	namespace    string
	// starting is true if active counts only the starting Migrations.
	starting bool
}

// remedyQueued is the remedy for a user who does not want to wait in line.
const remedyQueued = "raise activePerDestination of the manager"

// Hold describes the position in line and the limit; nil: the Migration need not wait.
func (s Spot) Hold(cluster string) *plan.Hold {
	if s.nth == 0 {
		return nil
	}
	return &plan.Hold{
		Reason:  api.ReasonQueued,
		Message: fmt.Sprintf("%s of %d in line for cluster %s: %s, at most %d at once", nth(s.nth), s.waiting, cluster, s.there(), s.most),
		Remedy:  remedyQueued,
	}
}

func (s Spot) there() string {
	what, is := "Migrations", "are"
	if s.active == 1 {
		what, is = "Migration", "is"
	}
	if s.namespace != "" {
		what += " of namespace " + s.namespace
	}
	does := "active"
	if s.starting {
		does = "starting"
	}
	return fmt.Sprintf("%d %s to it %s %s", s.active, what, is, does)
}

// nth returns an ordinal number in words.
func nth(n int) string {
	words := []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}
	if n <= len(words) {
		return words[n-1]
	}
	suffix := "th"
	if tens := n / 10 % 10; tens != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
