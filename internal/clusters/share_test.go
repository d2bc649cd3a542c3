package clusters

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestShare: each payer is charged for all watched data, once for all of its connections. No payer exceeds its allowance, or
// is removed while no other could pay. All of it is returned (S3).
func TestShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const all = 100
		woken := 0
		s := newShare(func() { woken++ })
		tenants := []*Allowance{NewAllowance(all), NewAllowance(all / 2), NewAllowance(all)}
		var joined []*payer
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			of := rapid.SampledFrom(tenants).Draw(t, "tenant")
			n := rapid.Int64Range(1, all/2).Draw(t, "n")
			before, out := s.taken, woken
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				if p, err := s.join("west", of); err == nil {
					joined = append(joined, p)
				} else if s.payers[of] != nil || of.left >= s.taken {
					t.Fatalf("refused with %d left for %d", of.left, s.taken)
				}
			case 1:
				if len(joined) > 0 {
					i := rapid.IntRange(0, len(joined)-1).Draw(t, "who")
					s.leave(joined[i])
					joined = slices.Delete(joined, i, i+1)
				}
			case 2:
				s.give(min(n, s.taken))
			default:
				paying := len(s.payers)
				if s.take(n) != (s.taken == before+n) || s.taken == before && len(s.payers) != paying || (woken > out) != (len(s.payers) < paying) {
					t.Fatalf("%d of %d pay for %d, woken %d", len(s.payers), paying, s.taken, woken-out)
				}
			}
			for i, of := range tenants {
				checkPaid(t, s, of, []int64{all, all / 2, all}[i]-of.left)
			}
			for _, p := range joined {
				if in := s.payers[p.of] == p; in != (s.pays(p) == nil) {
					t.Fatal("one that was put out is shown more, or one that pays is not")
				}
			}
		}
		for _, p := range joined {
			s.leave(p)
		}
		if len(s.payers) > 0 || tenants[0].left+tenants[1].left+tenants[2].left != 2*all+all/2 {
			t.Fatalf("%d are left in the end", tenants[0].left)
		}
	})
}

// checkPaid checks that a payer is charged for all data, and any other allowance for none.
func checkPaid(t *rapid.T, s *share, of *Allowance, paid int64) {
	p := s.payers[of]
	if p != nil && (paid != s.taken || s.pays(p) != nil) || p == nil && paid != 0 || of.left < 0 {
		t.Fatalf("paid %d of %d", paid, s.taken)
	}
}
