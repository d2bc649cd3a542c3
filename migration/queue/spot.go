package queue

import (
	"fmt"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Spot is where in line somebody stands.
type Spot struct {
	// nth is 0 for who need not wait.
	nth, waiting int
	// active is how many have a place, and most how many may; of a namespace, where it is that which has
	// its share.
	active, most int
	namespace    string
	// starting says that those are active which start.
	starting bool
}

// remedyQueued is for who would not wait in line.
const remedyQueued = "raise activePerDestination of the manager"

// Hold says where in line somebody waits for what; nil: there is no need to.
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

// nth is an ordinal number in words.
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
