package plan

import (
	"cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
)

// Saying classifies the form of a PodDisruptionBudget by its author.
type Saying string

// Classes of a budget's form.
const (
	// OfMigration is the form that the migration wrote last.
	OfMigration Saying = "OfMigration"
	// Recorded is a form that its author wrote and that the migration recorded, or an unmarked form of a
	// migration.
	Recorded Saying = "Recorded"
	// Word is a form that its author has written since: the migration records it before it stops an ordinal.
	Word Saying = "Word"
	// PutBack is the recorded form, or an unmarked form of the migration, where the migration's mark was before: a
	// tool has applied its own version again.
	PutBack Saying = "PutBack"
)

// Edited reports whether the budget's form differs from the one in the migration's mark.
func (b Budget) Edited() bool { return b.Fence != "" && b.Wrote != "" && b.Wrote != b.Form.String() }

// Writer returns the field manager that wrote the form.
func (b Budget) Writer() string { return cmp.Or(b.WrittenBy, "unknown") }

// Saying distinguishes an author's new form from a form of the migration, and from a form that a tool applies
// repeatedly. It compares objects, not clocks. seen is the last recorded version and author the form recorded with
// it; each is nil if there is none.
func (b Budget) Saying(seen *api.BudgetVersion, author *pdb.Form) Saying {
	known := seen != nil && seen.UID == b.UID
	taken := known && seen.Taken
	same := author != nil && b.Form.Equal(*author)
	alone := b.Own && b.WrittenBy == ""
	applied := b.Own && !alone && !same // by server-side apply of the same number that the migration had written
	switch {
	case b.Fence != "" && !b.Edited() && !applied:
		return OfMigration
	case known && !taken && b.Generation <= seen.Generation: // an older version, from a stale cache
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
