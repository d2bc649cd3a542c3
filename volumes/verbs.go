package volumes

// Verb names an action on an object of an ordinal, for people and programs. The table below says to which kind of object
// it makes which change, and nothing else does.
type Verb string

// The verbs. None of them deletes a volume.
const (
	// Secure sets a volume to Retain and records its original policy.
	Secure Verb = "Secure"
	// Park sets the claimRef of a volume to a claim that cannot exist.
	Park Verb = "Park"
	// Point sets the claimRef of the taker's volume to the taker's claim.
	Point Verb = "Point"
	// Restore sets a volume back to its original reclaim policy.
	Restore Verb = "Restore"
	// Release sets the claimRef of the giver's volume to the outgoing claim, and marks the volume with the
	// fence of that write. PointBack sets it back to the ordinal's claim and removes the mark.
	Release   Verb = "Release"
	PointBack Verb = "PointBack"
	// TakeOver sets the claimRef of the incoming volume to the taker's claim, with the seal.
	TakeOver Verb = "TakeOver"
	// Loosen sets the claimRef of the incoming volume back to its claim, and restores its reclaim policy.
	Loosen Verb = "Loosen"
	// CreateVolume creates the taker's volume for the giver's disk.
	CreateVolume Verb = "CreateVolume"

	// CreateClaim creates the ordinal's claim, which names the volume.
	CreateClaim Verb = "CreateClaim"
	// MarkClaim writes the fence on the ordinal's claim, and a count of these writes. The binder syncs a claim
	// when the claim changes, not when its volume does. Without this write, a claim that the binder saw before
	// its volume is bound at the next resync, 15 s later (kubernetes pv_controller_base.go).
	MarkClaim Verb = "MarkClaim"
	// CreateIncoming and CreateOutgoing create the claims that movers mount.
	CreateIncoming Verb = "CreateIncoming"
	CreateOutgoing Verb = "CreateOutgoing"
	// DeleteLost deletes a claim that has lost its volume to another one. DeleteUnfilled deletes an incoming
	// claim that has no volume yet.
	DeleteLost     Verb = "DeleteLost"
	DeleteUnfilled Verb = "DeleteUnfilled"
	// DeleteDropped deletes the incoming claim. Its volume is deleted or retained by its own policy. The
	// receiver's Service, which the claim owns, is garbage-collected.
	DeleteDropped Verb = "DeleteDropped"

	// CreateMover creates the pod of a mover, and MarkMover writes the fence on it. TellMover writes the key of
	// its peer on it, and DeleteMover deletes it.
	CreateMover Verb = "CreateMover"
	MarkMover   Verb = "MarkMover"
	TellMover   Verb = "TellMover"
	DeleteMover Verb = "DeleteMover"
	// CreateEntrance creates the Service of a receiver, and ExportEntrance its ServiceExport. DeleteEntrance
	// deletes that Service, so that another one can replace it.
	CreateEntrance Verb = "CreateEntrance"
	ExportEntrance Verb = "ExportEntrance"
	DeleteEntrance Verb = "DeleteEntrance"

	// CreateSnapshot takes a snapshot of the volume of the outgoing claim.
	CreateSnapshot Verb = "CreateSnapshot"
	// RetainContent makes the snapshot survive its content. LoosenContent restores the content's policy.
	RetainContent Verb = "RetainContent"
	LoosenContent Verb = "LoosenContent"
	// CreateContent and CreateImport make the snapshot known at the taker.
	CreateContent Verb = "CreateContent"
	CreateImport  Verb = "CreateImport"
	// DeleteSnapshot and DeleteContent delete the objects that were created for an attempt. The storage deletes
	// the snapshot together with a VolumeSnapshot whose content does not retain it.
	DeleteSnapshot Verb = "DeleteSnapshot"
	DeleteContent  Verb = "DeleteContent"
	// TakeBase creates a snapshot of the claim of a running ordinal, and RestoreBase creates a claim from it.
	// DropBase and DropBaseSnapshot delete them.
	TakeBase         Verb = "TakeBase"
	RestoreBase      Verb = "RestoreBase"
	DropBase         Verb = "DropBase"
	DropBaseSnapshot Verb = "DropBaseSnapshot"
)

// Kind is the kind of an object, as kubectl names it.
type Kind string

// The kinds of objects that actions write.
const (
	KindVolume   Kind = "persistentvolume"
	KindClaim    Kind = "persistentvolumeclaim"
	KindPod      Kind = "pod"
	KindService  Kind = "service"
	KindExport   Kind = "serviceexport"
	KindSnapshot Kind = "volumesnapshot"
	KindContent  Kind = "volumesnapshotcontent"
)

// Change is a change of an object.
type Change string

// The changes.
const (
	Creates Change = "creates"
	Updates Change = "updates"
	Deletes Change = "deletes"
)

// Part is the part that an object plays for an ordinal. Its own claim and volume have an empty Part.
type Part string

// The parts beside the ordinal's own claim and volume.
const (
	// PartIncoming is the claim in which a second volume is filled, at the taker, and what belongs to it.
	PartIncoming Part = "incoming"
	// PartOutgoing is the claim, at the giver, from which the last pass or the snapshot reads, and what belongs to it.
	PartOutgoing Part = "outgoing"
	// PartBase is what a warm pass reads instead of the ordinal's claim.
	PartBase Part = "base"
)

// Needs lists the reads from the API servers right before an action, which relies on them. The zero value is everything.
type Needs int

// The needs.
const (
	NeedsAll Needs = iota
	// NeedsNothing is for an action whose object has no effect on its own.
	NeedsNothing
	// NeedsPods is the pods of the giver, and NeedsVolume its volume.
	NeedsPods
	NeedsVolume
	// NeedsOrdinal is the pods, the claims and the volumes of the ordinal on both sides.
	NeedsOrdinal
)

// row describes the actions of a verb.
type row struct {
	kind   Kind
	change Change
	part   Part
	needs  Needs
}

var rows = map[Verb]row{
	Secure:       {KindVolume, Updates, "", NeedsNothing},
	Park:         {KindVolume, Updates, "", NeedsPods},
	Point:        {KindVolume, Updates, "", NeedsVolume},
	Restore:      {KindVolume, Updates, "", NeedsAll},
	Release:      {KindVolume, Updates, "", NeedsOrdinal},
	PointBack:    {KindVolume, Updates, "", NeedsOrdinal},
	TakeOver:     {KindVolume, Updates, "", NeedsOrdinal},
	Loosen:       {KindVolume, Updates, "", NeedsOrdinal},
	CreateVolume: {KindVolume, Creates, "", NeedsNothing},

	CreateClaim:    {KindClaim, Creates, "", NeedsNothing},
	MarkClaim:      {KindClaim, Updates, "", NeedsAll},
	CreateIncoming: {KindClaim, Creates, PartIncoming, NeedsAll},
	CreateOutgoing: {KindClaim, Creates, PartOutgoing, NeedsAll},
	RestoreBase:    {KindClaim, Creates, PartBase, NeedsAll},
	DeleteLost:     {KindClaim, Deletes, "", NeedsAll},
	DeleteUnfilled: {KindClaim, Deletes, PartIncoming, NeedsAll},
	DeleteDropped:  {KindClaim, Deletes, PartIncoming, NeedsOrdinal},
	DropBase:       {KindClaim, Deletes, PartBase, NeedsAll},

	CreateMover:    {KindPod, Creates, "", NeedsAll},
	MarkMover:      {KindPod, Updates, "", NeedsAll},
	TellMover:      {KindPod, Updates, "", NeedsAll},
	DeleteMover:    {KindPod, Deletes, "", NeedsAll},
	CreateEntrance: {KindService, Creates, PartIncoming, NeedsAll},
	DeleteEntrance: {KindService, Deletes, PartIncoming, NeedsAll},
	ExportEntrance: {KindExport, Creates, PartIncoming, NeedsAll},

	CreateSnapshot:   {KindSnapshot, Creates, PartOutgoing, NeedsAll},
	CreateImport:     {KindSnapshot, Creates, PartIncoming, NeedsAll},
	DeleteSnapshot:   {KindSnapshot, Deletes, "", NeedsAll},
	TakeBase:         {KindSnapshot, Creates, PartBase, NeedsAll},
	DropBaseSnapshot: {KindSnapshot, Deletes, PartBase, NeedsAll},
	CreateContent:    {KindContent, Creates, PartIncoming, NeedsAll},
	RetainContent:    {KindContent, Updates, "", NeedsAll},
	LoosenContent:    {KindContent, Updates, "", NeedsAll},
	DeleteContent:    {KindContent, Deletes, "", NeedsAll},
}

// Kind returns the kind of the object that the action writes; empty for the verb of a method that is not built in.
func (a Action) Kind() Kind { return rows[a.Verb].kind }

// Change returns the change of that object.
func (a Action) Change() Change { return rows[a.Verb].change }

// Part returns the part of that object. It is empty if the object is the ordinal's own, or is found by its name.
func (a Action) Part() Part { return rows[a.Verb].part }

// Needs returns the live reads that the action relies on.
func (a Action) Needs() Needs { return rows[a.Verb].needs }

// Does reports whether the action makes a change to an object of a kind.
func (a Action) Does(change Change, kind Kind) bool { return a.Kind() == kind && a.Change() == change }

// Restores reports whether the action restores the reclaim policy of a volume that was carried.
func (a Action) Restores() bool { return a.Verb == Restore }

// Object returns the name of the object that the action writes.
func (a Action) Object() string {
	switch a.Kind() {
	case KindVolume:
		return a.Volume
	case KindPod:
		return a.Copy.Pod
	default:
		return a.Ref.Name
	}
}

// ForMovers reports whether the object is one that only movers use: it does not carry an ordinal's name, so no watch
// of the migration reports it.
func (a Action) ForMovers() bool { return a.Part() != "" }
