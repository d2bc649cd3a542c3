package rehearse

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
)

// TestMeterJudgesParts: the requests of the last ten seconds are judged, and not those before. Without a probe nothing
// is.
func TestMeterJudgesParts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	times := clocktesting.NewFakeClock(commandtest.Noon)
	m, err := NewMeter(&api.ProbeSpec{URL: server.URL}, times)
	if err != nil {
		t.Fatal(err)
	}
	measured := make(chan error, 1)
	go func() { measured <- m.Before(t.Context(), time.Second) }()
	commandtest.Await(t, times.HasWaiters, func() string { return "it does not measure" })
	times.Step(time.Second)
	if err := <-measured; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	counted := func() api.ClientRequests {
		if status := m.during.Status(commandtest.Noon); status != nil {
			return status.ClientRequests
		}
		return api.ClientRequests{}
	}
	if latest := m.Latest(); latest != nil {
		t.Errorf("before ten seconds: %+v", latest)
	}
	commandtest.Await(t, func() bool { return counted().Requests > 1 }, func() string { return "it sends nothing" })
	times.Step(judged)
	first := m.Latest()
	if first == nil || first.All < 2 || first.Failed > 0 {
		t.Fatalf("after ten seconds: %+v", first)
	}
	server.Close()
	commandtest.Await(t, func() bool { return counted().Failed > 0 }, func() string { return "no request fails" })
	if latest := m.Latest(); *latest != *first {
		t.Errorf("before the next ten seconds: %+v", latest)
	}
	times.Step(judged)
	if latest := m.Latest(); latest == nil || latest.Failed == 0 {
		t.Errorf("after them: %+v", latest)
	}
	if all := m.Latency(); all.During.Moving != nil || all.During.Failed == 0 {
		t.Errorf("%+v", all.During)
	}
	none, err := NewMeter(nil, times)
	if err != nil || none.Latest() != nil || none.Latency() != nil {
		t.Errorf("without a probe: %v", err)
	}
}
