package probe

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// some returns n samples in the order in which they were sent. A third of them fails.
func some(random *rand.Rand, n int) []Sample {
	at := time.Unix(1_700_000_000, 0)
	samples := make([]Sample, n)
	for i := range samples {
		at = at.Add(time.Duration(1+random.IntN(900)) * time.Millisecond)
		samples[i] = Sample{Start: at, Took: time.Duration(random.Int64N(int64(3 * time.Second)))}
		if random.IntN(3) == 0 {
			samples[i].Failure = "it failed"
		}
	}
	return samples
}

func windowOf(samples []Sample) (w Window) {
	for _, s := range samples {
		w.Send()
		w.Add(s)
	}
	return w
}

// TestWindow: for any samples, the counts match the samples. Percentiles are never below the true ones, and at
// most a third above them. The outage is the longest time without a success.
func TestWindow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		samples := some(random, random.IntN(60))
		got := windowOf(samples).Figures()
		var took []int64
		for _, s := range samples {
			if s.Failure == "" {
				took = append(took, milliseconds(s.Took))
			}
		}
		slices.Sort(took)
		if got.Requests != int64(len(samples)) || got.Failed != int64(len(samples)-len(took)) || got.Unanswered != 0 {
			t.Fatalf("%d samples, %d good: %+v", len(samples), len(took), got)
		}
		if want := longestGap(samples); got.OutageMilliseconds != milliseconds(want) {
			t.Fatalf("the outage is %d ms, want %s: %+v", got.OutageMilliseconds, want, samples)
		}
		if len(took) == 0 {
			if got.P50Milliseconds+got.P99Milliseconds+got.LongestMilliseconds != 0 {
				t.Fatalf("none succeeded: %+v", got)
			}
			continue
		}
		if got.LongestMilliseconds != took[len(took)-1] {
			t.Fatalf("the longest is %d, want %d", got.LongestMilliseconds, took[len(took)-1])
		}
		for percent, is := range map[int]int64{50: got.P50Milliseconds, 99: got.P99Milliseconds} {
			if want := took[(percent*len(took)+99)/100-1]; is < want || want <= edges[len(edges)-1] && float64(is) > float64(want)*4/3+1 {
				t.Fatalf("p%d is %d, want about %d of %v", percent, is, want, took)
			}
		}
	}
}

// longestGap returns the longest time from the first of a series of failures to the next success, or to the end
// of the last failure.
func longestGap(samples []Sample) (longest time.Duration) {
	for i, s := range samples {
		if s.Failure == "" || i > 0 && samples[i-1].Failure != "" {
			continue
		}
		for _, next := range samples[i:] {
			if next.Failure == "" {
				longest = max(longest, next.Start.Sub(s.Start))
				break
			}
			longest = max(longest, next.end().Sub(s.Start))
		}
	}
	return longest
}

// TestWindowRecorded: the next process continues the stored counts with the same result as a single process.
func TestWindowRecorded(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		samples := some(random, random.IntN(60))
		cut := random.IntN(len(samples) + 1)
		whole, first := windowOf(samples).Figures(), windowOf(samples[:cut])
		read := recorded(first.Figures(), first.latencies())
		for _, s := range samples[cut:] {
			read.Send()
			read.Add(s)
		}
		sum := read.Figures()
		if sum.OutageMilliseconds > whole.OutageMilliseconds+1 {
			t.Fatalf("the outage is longer: %+v, %+v", sum, whole)
		}
		if sum.OutageMilliseconds = whole.OutageMilliseconds; sum != whole {
			t.Fatalf("it is %+v, want %+v", sum, whole)
		}
	}
}
