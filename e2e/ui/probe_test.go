package ui

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/staged"
)

// TestV5PageOfAProbe: the page shows the measurements of clients in the words of the report, in total and for
// each handoff. For a move without a probe it does not mention clients.
func TestV5PageOfAProbe(t *testing.T) {
	probed, silent := staged.UnderWay(t, "web", time.Now()), staged.UnderWay(t, "quiet", time.Now())
	probed.Spec.Probe = &api.ProbeSpec{URL: "https://shop.example/"}
	probed.Status.Probe = &api.ProbeStatus{
		ClientRequests: api.ClientRequests{Requests: 1204, Failed: 2, OutageMilliseconds: 400, P50Milliseconds: 4, P99Milliseconds: 12, LongestMilliseconds: 1230},
		Message:        "connection refused", Time: metav1.NowMicro(), FailureTime: metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
	probed.Status.History.Handoffs[0].Clients = &api.ClientRequests{Requests: 1139, Failed: 2, OutageMilliseconds: 400}
	shop := newShop(t)
	shop.keep(probed, silent)
	b := browse(t, serve(t, harness.East().Kubeconfig(), "-n", shop.namespace).address, desk)
	b.visit("#/migration/" + shop.namespace + "/web")
	b.says("facts", "2 of 1,204 requests failed, for 400ms in a row at most; p50 4 ms, p99 12 ms, longest 1,230 ms; the last failure, at 2026-01-02 03:04:05: connection refused")
	b.says("facts", "https://shop.example/")
	b.says("handoffs", "2 of 1,139 requests failed, for 400ms")
	b.says("handoffs", "not measured") // the second handoff
	b.visit("#/migration/" + shop.namespace + "/quiet")
	b.says("head", "quiet")
	b.await(`/Fewest available/.test(document.getElementById("handoffs")?.innerText) && !/Clients|requests failed/.test(document.getElementById("main").innerText)`)
}
