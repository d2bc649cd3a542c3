package plan_test

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
)

// TestH3Saying: the object and the record determine who wrote the form of a PodDisruptionBudget, at any moment of
// a move.
func TestH3Saying(t *testing.T) {
	author := pdb.Unavailable(2)
	untouched := &api.BudgetVersion{UID: "b", Generation: 3}
	taken := &api.BudgetVersion{UID: "b", Generation: 3, Taken: true}
	budget := func(form pdb.Form, generation int64, changes ...func(*plan.Budget)) plan.Budget {
		b := plan.Budget{UID: "b", Form: form, Generation: generation, WrittenBy: "kubectl"}
		for _, change := range changes {
			change(&b)
		}
		return b
	}
	marked := func(wrote pdb.Form) func(*plan.Budget) {
		return func(b *plan.Budget) { b.Fence, b.Wrote = "m.1", wrote.String() }
	}
	ours := func(b *plan.Budget) { b.Own, b.WrittenBy = true, "" }
	replaced := func(b *plan.Budget) { b.UID = "another" }
	handedOver := func(b *plan.Budget) { b.HandedOver = true }
	zero, one := pdb.Unavailable(0), pdb.Unavailable(1)
	for name, tc := range map[string]struct {
		budget plan.Budget
		seen   *api.BudgetVersion
		author *pdb.Form
		want   plan.Saying
	}{
		"before the first write":                        {budget(author, 3), untouched, &author, plan.Recorded},
		"the record is of an older version":             {budget(author, 3), nil, &author, plan.Recorded},
		"shared out":                                    {budget(one, 4, marked(one), ours), untouched, &author, plan.OfMigration},
		"applied, the number that it has":               {budget(one, 4, marked(one), func(b *plan.Budget) { b.Own = true }), taken, &author, plan.Word},
		"and recorded a moment ago":                     {budget(one, 4, marked(one), func(b *plan.Budget) { b.Own = true }), &api.BudgetVersion{UID: "b", Generation: 4}, &one, plan.OfMigration},
		"shared out, the same number":                   {budget(author, 3, marked(author)), taken, &author, plan.OfMigration},
		"given back":                                    {budget(author, 9, ours), untouched, &author, plan.Recorded},
		"the first one appears":                         {budget(one, 1), nil, nil, plan.Word},
		"lowered before the first write":                {budget(one, 4), untouched, &author, plan.Word},
		"lowered at a gate, the mark left":              {budget(zero, 5, marked(one)), untouched, &author, plan.Word},
		"lowered at a gate, the mark removed":           {budget(zero, 5), taken, &author, plan.Word},
		"raised":                                        {budget(pdb.Unavailable(3), 5, marked(one)), taken, &author, plan.Word},
		"it says what must stay":                        {budget(pdb.Available(3), 5, marked(one)), taken, &author, plan.Word},
		"replaced by another form":                      {budget(one, 1, replaced), taken, &author, plan.Word},
		"replaced by the same form":                     {budget(author, 1, replaced), taken, &author, plan.Recorded},
		"edited after it was given back":                {budget(one, 10), untouched, &author, plan.Word},
		"an older one, in a cache":                      {budget(one, 2), untouched, &author, plan.Recorded},
		"recorded a moment ago, the mark left":          {budget(author, 3, marked(one)), untouched, &author, plan.Recorded},
		"the other side's counts since":                 {budget(one, 3), untouched, &author, plan.Recorded},
		"put back, the mark removed":                    {budget(author, 5), taken, &author, plan.PutBack},
		"put back, the mark left":                       {budget(author, 5, marked(one)), untouched, &author, plan.PutBack},
		"the mark alone removed":                        {budget(one, 4, ours), taken, &author, plan.PutBack},
		"the mark alone removed, the author's own form": {budget(author, 3), taken, &author, plan.PutBack},
		"written there and back before the first write": {budget(author, 5), untouched, &author, plan.Recorded},
		"put back, and handed over":                     {budget(author, 5, handedOver), taken, &author, plan.Recorded},
		"another form, and handed over":                 {budget(one, 5, handedOver), taken, &author, plan.Word},
		"ours, and handed over":                         {budget(one, 5, ours, handedOver), taken, &author, plan.Recorded},
		"nobody is known to have written it":            {budget(one, 5, func(b *plan.Budget) { b.WrittenBy = "" }), taken, &author, plan.Word},
	} {
		if got := tc.budget.Saying(tc.seen, tc.author); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
