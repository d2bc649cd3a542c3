package copy

import (
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// entrance creates the Service by which the sender reaches the receiver, and exports it if that is requested. A
// relay needs none. A Service that was created for another type than the one requested now is replaced, after
// the sender with its address was deleted.
func (v view) entrance() volumes.Verdict {
	in, made := v.Incoming, v.Entrance
	switch asked := v.Asked; {
	case v.relays():
		return volumes.Verdict{}
	case asked.Export && asked.ExportVersion == "": // an existing Service is not deleted for one that cannot be exported
		return blocked(api.ReasonExportUnsupported, "copy.serviceType needs exports, but the receiving cluster does not serve ServiceExport (multicluster.x-k8s.io)",
			"install a multi-cluster services controller there, or set copy.serviceType to another type, or copy.transport to Relay; the copy then continues")
	case !made.Leaving.IsZero():
		return volumes.Awaits("Service %s/%s is deleted%s", in.Ref.Namespace, in.Ref.Name, volumes.KeptBy(made.Keeps))
	case !made.Found:
		return v.onEntrance(volumes.CreateEntrance)
	case made.Other:
		return volumes.First(func() volumes.Verdict { return v.remove(v.sends()) }, v.closed)
	case !asked.Export || made.Exported:
		return volumes.Verdict{}
	default:
		return v.onEntrance(volumes.ExportEntrance)
	}
}

// onEntrance returns an action on the Service or its export, which the incoming claim owns.
func (v view) onEntrance(verb volumes.Verb) volumes.Verdict {
	in := v.Incoming
	verdict := v.Act(verb, false)
	verdict.Action.Ref, verdict.Action.UID = in.Ref, in.Claim.UID
	verdict.Action.Copy.Attempt, verdict.Action.Copy.ExportVersion = v.Attempt.Number, v.Asked.ExportVersion
	return verdict
}

// closed deletes the Service in the version that was judged.
func (v view) closed() volumes.Verdict {
	verdict := v.onEntrance(volumes.DeleteEntrance)
	verdict.Action.UID, verdict.Action.ResourceVersion = v.Entrance.UID, v.Entrance.ResourceVersion
	return verdict
}

// reached waits for the Service's address. A Service of type NodePort has one only when the receiver has a
// node.
func (v view) reached() volumes.Verdict {
	if in := v.Incoming; v.Asked.Address == "" && v.Entrance.Address == "" && !v.relays() {
		if why := v.Entrance.Refused; why != "" {
			return volumes.Awaits("Service %s/%s is exported: its ServiceExport says %s", in.Ref.Namespace, in.Ref.Name, why)
		}
		return volumes.Awaits("Service %s/%s has an address", in.Ref.Namespace, in.Ref.Name)
	}
	return volumes.Verdict{}
}
