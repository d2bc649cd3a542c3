package plan

import (
	"cmp"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
)

// Saying tells who wrote the form that a PodDisruptionBudget has.
type Saying string

// The sayings.
const (
	// OfMigration is the form that the migration wrote last.
	OfMigration Saying = "OfMigration"
	// Recorded is a form that its author wrote and that the migration has recorded, or an unmarked form of a migration.
	Recorded Saying = "Recorded"
	// Word is a form that its author has written since: the migration records it before it stops anything.
	Word Saying = "Word"
	// PutBack is the recorded form, or an unmarked form of the migration, where the mark of the migration was before: a
	// tool has written its own version again.
	PutBack Saying = "PutBack"
)

// Edited reports whether the budget has another form than the mark of the migration says.
func (b Budget) Edited() bool { return b.Fence != "" && b.Wrote != "" && b.Wrote != b.Form.String() }

// Writer names the manager that wrote the form.
func (b Budget) Writer() string { return cmp.Or(b.WrittenBy, "unknown") }

// Saying tells an author's new form from a form of the migration, and from one that a tool writes again and again. It
// compares objects, not clocks: seen is the version that was recorded last, nil for none, and author is the form that was
// recorded with it, nil for none.
func (b Budget) Saying(seen *api.BudgetVersion, author *pdb.Form) Saying {
	known := seen != nil && seen.UID == b.UID
	taken := known && seen.Taken
	same := author != nil && b.Form.Equal(*author)
	alone := b.Own && b.WrittenBy == ""
	applied := b.Own && !alone && !same // by server-side apply, and the migration had written the same number
	switch {
	case b.Fence != "" && !b.Edited() && !applied:
		return OfMigration
	case known && !taken && b.Generation <= seen.Generation: // an older one is in a cache that lags
		return Recorded
	case b.HandedOver:
		return pick(same || alone, Recorded, Word)
	case alone:
		return pick(taken, PutBack, Recorded)
	case same:
		return pick(taken || known && b.Fence != "", PutBack, Recorded)
	default:
		return Word
	}
}

func pick(yes bool, one, other Saying) Saying {
	if yes {
		return one
	}
	return other
}
