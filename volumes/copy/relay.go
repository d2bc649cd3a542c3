package copy

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// relayed is the rate through a relay in bytes a second, if none was measured. Every byte passes two API
// servers, two kubelets and this process, each of which reads and writes it.
const relayed = 10 << 20

// End is a mover that a relay connects to.
type End struct {
	Ref volumes.Ref
	UID types.UID
	// Warm is true for the sender of a pass before the stop.
	Warm bool
}

// Relays returns the two movers that a relay must connect now: they know each other's keys, have not ended, and
// both listen. It depends on their pods only, so any process that sees them may connect them. Two relays are
// harmless: each connection is between the two movers, which authenticate each other by their keys.
func Relays(pair volumes.Pair) (sender, receiver End, due bool) {
	v := viewOf(pair)
	for _, role := range []volumes.Role{volumes.RoleWarm, volumes.RoleSender} {
		r, s := v.Receiver, v.mover(role)
		if !carried(r) || !carried(s) || r.Peer != s.Key || s.Peer != r.Key {
			continue
		}
		return v.end(role), v.end(volumes.RoleReceiver), true
	}
	return End{}, End{}, false
}

func carried(m volumes.Mover) bool {
	return m.Found && m.Relayed && !m.Foreign && !m.Terminating && !m.Ended && m.Peer != ""
}

func (v view) end(role volumes.Role) End {
	return End{Ref: volumes.Ref{Namespace: v.ref(role).Namespace, Name: v.pod(role)}, UID: v.mover(role).UID, Warm: role == volumes.RoleWarm}
}

// relays reports whether the movers are connected by a relay.
func (v view) relays() bool { return v.Asked.Transport == api.TransportRelay }

// assumedRate returns the send rate in bytes a second that is assumed if none was measured.
func (v view) assumedRate() int64 {
	if v.relays() {
		return relayed
	}
	return assumed
}

// hampered returns why the relay does not connect the movers, as the end of a sentence.
func (v view) hampered() string {
	if !v.relays() || v.RelayTrouble == "" {
		return ""
	}
	return "; the relay does not connect them: " + v.RelayTrouble
}

// slow returns a warning about the effect of a relay on a claim, before anything is copied.
func (v view) slow() *volumes.Reason {
	if !v.relays() {
		return nil
	}
	took := time.Duration(v.Asked.Needed/relayed) * time.Second
	return &volumes.Reason{
		Reason: volumes.ReasonCopyRelayed,
		Message: fmt.Sprintf("copy.transport of claim template %s is Relay: all data passes through the process that runs the move and through both API servers. At %s a second, which is assumed until it is measured, claim %s/%s takes %s if it is full (%s). The final comparison sends almost nothing, because each side reads its own disk",
			v.Template, size(relayed), v.Giver.Ref.Namespace, v.Giver.Ref.Name, rounded(took), size(v.Asked.Needed)),
		Remedy: fmt.Sprintf("if the source's pods reach the destination's, a direct copy is faster: --volume %[1]s=copy,...,transport=direct,service=load-balancer (node-port, cluster-ip), or copy.transport: Direct and copy.serviceType for claim template %[1]s in spec.volumes. Otherwise leave it: if this process exits, the next one reconnects and the copy resumes", v.Template),
	}
}
