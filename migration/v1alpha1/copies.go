package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CopyTurnedBack is an ordinal that was taken back by itself: it was down for longer than its copy may take.
type CopyTurnedBack struct {
	// ordinal that was taken back.
	Ordinal int32 `json:"ordinal"`
	// claimTemplate whose copy took too long.
	// +kubebuilder:validation:MaxLength=253
	ClaimTemplate string `json:"claimTemplate"`
	// limit is what copy.downtimeLimit of it said then.
	Limit metav1.Duration `json:"limit"`
	// time is when it was.
	Time metav1.Time `json:"time"`
}

// CopyTorn is how often the disk that a copy was written to has failed: nothing on it can be trusted then, and another
// attempt is made on a new one.
type CopyTorn struct {
	// times is how many disks have failed, one after the other.
	Times int32 `json:"times"`
	// attempt is the number of the last one of these attempts.
	Attempt int32 `json:"attempt"`
	// time is when it was seen that its disk has failed.
	Time metav1.Time `json:"time"`
	// message is what its mover has said, with the error of the disk.
	// +optional
	Message string `json:"message,omitempty"`
}

// CopyWarm is what the warm passes of an attempt have come to. None of them proves anything: the ordinal writes
// meanwhile.
type CopyWarm struct {
	// passes is how many have ended well.
	// +optional
	Passes int32 `json:"passes,omitempty"`
	// ended is when the last of them did, or when they were refused.
	Ended metav1.Time `json:"ended"`
	// bytes, without holes, and files are what there was to copy, written is how many bytes the last pass had to write, and
	// seconds is how long it took.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// +optional
	Files int64 `json:"files,omitempty"`
	// +optional
	Written int64 `json:"written,omitempty"`
	// +optional
	Seconds int64 `json:"seconds,omitempty"`
	// rate is how many bytes a second the fastest pass has brought over, and changes how many changed in a second
	// between the last two passes.
	// +optional
	Rate int64 `json:"rate,omitempty"`
	// +optional
	Changes int64 `json:"changes,omitempty"`
	// readRate is how many bytes a second the slower side reads for the proof, as it was measured last after a pass. Absent:
	// it could not be told.
	// +optional
	ReadRate int64 `json:"readRate,omitempty"`
	// known is how many of bytes the last one has read and kept, so that they need not be read at the stop unless they change
	// (verify: Changed), and young how many it has not for now since they had changed less than 60 s before.
	// +optional
	Known int64 `json:"known,omitempty"`
	// +optional
	Young int64 `json:"young,omitempty"`
	// troubleSince is since when no pass comes about, and trouble is why; absent once one has ended well.
	// +optional
	TroubleSince metav1.Time `json:"troubleSince,omitempty,omitzero"`
	// +optional
	Trouble string `json:"trouble,omitempty"`
	// by is Snapshot where they read a claim that is restored from a snapshot of the ordinal's, and why is what has led
	// to that.
	// +optional
	By CopyWarmMode `json:"by,omitempty"`
	// +optional
	Why string `json:"why,omitempty"`
	// taken is when the snapshot that the last of them has read was asked for, at the earliest.
	// +optional
	Taken metav1.Time `json:"taken,omitempty,omitzero"`
	// refused is why there are none, although they were to be made: the ordinal is then stopped for the whole copy.
	// +optional
	Refused string `json:"refused,omitempty"`
}
