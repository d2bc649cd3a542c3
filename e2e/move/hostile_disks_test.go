package move

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/hostile"
	"github.com/sliceshift/sliceshift/volumes"
)

// mostWrites is one more than the number of writes to a source before its first ordinal has moved.
const mostWrites = 5

// ofVictim is the name of a disk that the tenant wants but does not own, and of its volume.
const ofVictim = "of-a-victim"

// afterWrites calls does just before the server carries out its count-th write request.
func afterWrites(s *hostile.Server, count int32, does func()) {
	var seen atomic.Int32
	s.Hook(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "authorization.k8s.io") && seen.Add(1) == count {
			does()
		}
		return false
	})
}

// eachMoment moves an application of one replica between two servers repeatedly. It spoils the source before
// the first write, before the second, and so on. It returns the number of moves by the reason with which they
// ended.
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

// sources lists, by kind, the source of the victim's volume at the destination and how a hostile source names
// the same disk.
var sources = map[string][2]hostile.Object{
	"of CSI":                 {{"csi": hostile.Object{"driver": "hostile.example.com", "volumeHandle": ofVictim}}, {"csi": hostile.Object{"driver": "hostile.example.com", "volumeHandle": ofVictim}}},
	"K4 of NFS":              {{"nfs": hostile.Object{"server": "nfs.corp", "path": "/exports/victim"}}, {"nfs": hostile.Object{"server": "NFS.corp", "path": "/exports/victim/", "readOnly": true}}},
	"K4 of NFS, the folder":  {{"nfs": hostile.Object{"server": "nfs.corp", "path": "/exports/victim"}}, {"nfs": hostile.Object{"server": "nfs.corp", "path": "/exports"}}},
	"K4 of NFS, by a driver": {{"nfs": hostile.Object{"server": "nfs.corp", "path": "/exports/victim"}}, {"csi": hostile.Object{"driver": "hostile.example.com", "volumeHandle": "free", "volumeAttributes": hostile.Object{"server": "nfs.corp", "share": "/exports/victim"}}}},
	"K4 of iSCSI":            {{"iscsi": hostile.Object{"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2003-01.corp:t", "lun": 1, "fsType": "ext4"}}, {"iscsi": hostile.Object{"targetPortal": "10.0.0.2:3260", "iqn": "iqn.2003-01.corp:t", "lun": 1, "fsType": "xfs"}}},
	"K4 of Ceph":             {{"rbd": hostile.Object{"monitors": []any{"10.0.0.1"}, "image": "victim", "pool": "kube"}}, {"rbd": hostile.Object{"monitors": []any{"10.0.0.9"}, "image": "victim", "pool": "kube", "readOnly": true}}},
	"K4 of fibre channel":    {{"fc": hostile.Object{"targetWWNs": []any{"50AA", "50BB"}, "lun": 1}}, {"fc": hostile.Object{"targetWWNs": []any{"50bb"}, "lun": 1}}},
}

// swappedDisks: a hostile source replaces an ordinal's disk by another tenant's disk at any moment. No second
// volume is created for a disk that another tenant has at the destination, however the disk is named.
func swappedDisks(h *tenant) {
	for kind, source := range sources {
		each := h.tenant(h.t)
		each.swapsDisk(kind, source[0], source[1])
	}
}

// swapsDisk replaces the disk of an ordinal, at each moment, by the disk that a victim has at the destination.
func (h *tenant) swapsDisk(kind string, victims, taken hostile.Object) {
	h.t.Helper()
	claim := "data-web-0"
	ended := h.eachMoment(func(_, to *hostile.Server) {
		to.Put("persistentvolumes", sourced(hostile.VolumeOf("victims", claim), ofVictim, victims))
	}, func(from *hostile.Server) {
		from.Swap("persistentvolumes", sourced(from.Find("persistentvolumes", "", hostile.VolumeName(h.namespace, claim)), "", taken))
	}, func(moment string, _, to *hostile.Server) {
		for _, volume := range to.All("persistentvolumes") {
			spec, _ := volume["spec"].(hostile.Object)
			if name := volume["metadata"].(hostile.Object)["name"]; name != ofVictim && hasSource(spec, taken) {
				h.t.Errorf("%s, %s: volume %v was made of the victim's disk", kind, moment, name)
			}
		}
	})
	if ended[api.ReasonMoved] == 0 || ended[api.ReasonMoved] == mostWrites {
		h.t.Errorf("%s: the disk was never swapped before it had moved, or always: %v", kind, ended)
	}
}

// sourced replaces the source of a volume, and its name if name is not empty.
func sourced(volume hostile.Object, name string, source hostile.Object) hostile.Object {
	spec, _ := volume["spec"].(hostile.Object)
	delete(spec, "csi")
	maps.Copy(spec, source)
	if name != "" {
		volume["metadata"] = hostile.Object{"name": name}
	}
	return volume
}

// hasSource reports whether a volume has a source.
func hasSource(spec, source hostile.Object) bool {
	for field, value := range source {
		has, _ := json.Marshal(spec[field])
		want, _ := json.Marshal(value)
		if string(has) != string(want) {
			return false
		}
	}
	return true
}

// swappedClaims: when a source binds a claim to another tenant's volume at any moment, that volume is not
// written.
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
