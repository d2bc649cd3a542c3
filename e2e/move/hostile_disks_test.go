package move

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sliceshift/sliceshift/e2e/hostile"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// mostWrites is one more than a source is sent until its first ordinal has moved.
const mostWrites = 5

// ofVictim is what a tenant wants and does not own: a disk, and the claim that it is bound to.
const ofVictim = "of-a-victim"

// afterWrites does something right before the server carries out one of the requests that change it.
func afterWrites(s *hostile.Server, count int32, does func()) {
	var seen atomic.Int32
	s.Hook(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "authorization.k8s.io") && seen.Add(1) == count {
			does()
		}
		return false
	})
}

// eachMoment moves an application of one replica between two servers again and again. The source
// becomes another one before its first write, its second, and so on. How each ended.
func (h *tenant) eachMoment(prepare func(from, to *hostile.Server), spoil func(from *hostile.Server), judge func(moment string, from, to *hostile.Server)) map[string]int {
	h.t.Helper()
	type pair struct {
		from, to *hostile.Server
		m        *api.Migration
	}
	pairs := map[string]pair{}
	for n := range int32(mostWrites) {
		name := fmt.Sprintf("write-%d", n+1)
		p := pair{from: h.server(name + "-from"), to: h.server(name + "-to")}
		p.from.Deploy(h.namespace, "web", 1)
		p.to.Prepare(h.namespace)
		prepare(p.from, p.to)
		afterWrites(p.from, n+1, func() { spoil(p.from) })
		p.m = h.migrates(name, name+"-from", name+"-to")
		pairs[name] = p
	}
	ended := map[string]int{}
	for name, p := range pairs {
		ended[h.awaitReason(p.m, 90*time.Second, api.ReasonMoved, volumes.ReasonForeignVolume, volumes.ReasonForeignClaim, volumes.ReasonAnotherDisk, volumes.ReasonClaimNotBound).Reason]++
		judge(name, p.from, p.to)
	}
	h.t.Logf("ended: %v", ended)
	return ended
}

// swappedDisks: whenever a source says that an ordinal's disk is another one, no second volume is
// made of a disk that the destination has for somebody else.
func swappedDisks(h *tenant) {
	disk := func(volume hostile.Object) any {
		spec, _ := volume["spec"].(hostile.Object)
		csi, _ := spec["csi"].(hostile.Object)
		return csi["volumeHandle"]
	}
	claim := "data-web-0"
	ended := h.eachMoment(func(_, to *hostile.Server) {
		victim := hostile.VolumeOf("victims", claim)
		victim["metadata"] = hostile.Object{"name": ofVictim}
		victim["spec"].(hostile.Object)["csi"].(hostile.Object)["volumeHandle"] = ofVictim
		to.Put("persistentvolumes", victim)
	}, func(from *hostile.Server) {
		volume := from.Find("persistentvolumes", "", hostile.VolumeName(h.namespace, claim))
		volume["spec"].(hostile.Object)["csi"].(hostile.Object)["volumeHandle"] = ofVictim
		from.Swap("persistentvolumes", volume)
	}, func(moment string, _, to *hostile.Server) {
		for _, volume := range to.All("persistentvolumes") {
			if name := volume["metadata"].(hostile.Object)["name"]; disk(volume) == ofVictim && name != ofVictim {
				h.t.Errorf("%s: volume %v was made of the victim's disk", moment, name)
			}
		}
	})
	if ended[api.ReasonMoved] == 0 || ended[api.ReasonMoved] == mostWrites {
		h.t.Errorf("the disk was never swapped before it had moved, or always: %v", ended)
	}
}

// swappedClaims: whenever a source says that a claim is bound to a volume of somebody else's, that
// volume is not written.
func swappedClaims(h *tenant) {
	claim := "data-web-0"
	h.eachMoment(func(from, _ *hostile.Server) {
		victim := hostile.VolumeOf("victims", claim)
		victim["metadata"] = hostile.Object{"name": ofVictim}
		from.Put("persistentvolumes", victim)
	}, func(from *hostile.Server) {
		bound := from.Find("persistentvolumeclaims", h.namespace, claim)
		bound["spec"].(hostile.Object)["volumeName"] = ofVictim
		from.Put("persistentvolumeclaims", bound)
	}, func(moment string, from, _ *hostile.Server) {
		for _, asked := range from.Asked() {
			if strings.HasSuffix(asked, "/persistentvolumes/"+ofVictim) && !strings.HasPrefix(asked, http.MethodGet) {
				h.t.Errorf("%s: %s", moment, asked)
			}
		}
	})
}
