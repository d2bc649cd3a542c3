package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CopyTurnedBack is an ordinal that was rolled back automatically because it was down for longer than its copy may
// take.
type CopyTurnedBack struct {
	// ordinal that was rolled back.
	Ordinal int32 `json:"ordinal"`
	// claimTemplate whose copy took too long.
	// +kubebuilder:validation:MaxLength=253
	ClaimTemplate string `json:"claimTemplate"`
	// limit is the value of copy.downtimeLimit of the claim template at that time.
	Limit metav1.Duration `json:"limit"`
	// time is when the ordinal was rolled back.
	Time metav1.Time `json:"time"`
}

// CopyTorn records failures of the disk that a copy is written to. Nothing on such a disk can be trusted, so another
// attempt uses a new disk.
type CopyTorn struct {
	// times is how many disks have failed in succession.
	Times int32 `json:"times"`
	// attempt is the number of the last of these attempts.
	Attempt int32 `json:"attempt"`
	// time is when the failure of its disk was observed.
	Time metav1.Time `json:"time"`
	// message is the report of its mover, with the error of the disk.
	// +optional
	Message string `json:"message,omitempty"`
}

// CopyWarm is the result of the warm passes of an attempt. A warm pass proves nothing, because the ordinal continues
// to write.
type CopyWarm struct {
	// passes is how many have succeeded.
	// +optional
	Passes int32 `json:"passes,omitempty"`
	// ended is when the last of them succeeded, or when they were refused; absent before that.
	// +optional
	Ended metav1.Time `json:"ended,omitempty,omitzero"`
	// bytes (without holes) and files are the content to copy. written is how many bytes the last pass had to write,
	// and seconds is how long it took.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// +optional
	Files int64 `json:"files,omitempty"`
	// +optional
	Written int64 `json:"written,omitempty"`
	// +optional
	Seconds int64 `json:"seconds,omitempty"`
	// rate is how many bytes a second the fastest pass has transferred. changes is how many bytes a second changed
	// between the last two passes.
	// +optional
	Rate int64 `json:"rate,omitempty"`
	// +optional
	Changes int64 `json:"changes,omitempty"`
	// readRate is how many bytes a second the slower side reads for the comparison, as last measured after a pass;
	// absent if it is not known.
	// +optional
	ReadRate int64 `json:"readRate,omitempty"`
	// known is how many of these bytes the last pass has read and recorded. They need not be read after the stop
	// unless they change (verify: Changed). young is how many were skipped because they had changed less than 60 s
	// before.
	// +optional
	Known int64 `json:"known,omitempty"`
	// +optional
	Young int64 `json:"young,omitempty"`
	// troubleSince is since when no pass succeeds, and trouble is the reason; absent after a successful pass.
	// +optional
	TroubleSince metav1.Time `json:"troubleSince,omitempty,omitzero"`
	// +optional
	Trouble string `json:"trouble,omitempty"`
	// by is Snapshot if the passes read a claim that is restored from a snapshot of the ordinal's, and why is the
	// reason.
	// +optional
	By CopyWarmMode `json:"by,omitempty"`
	// +optional
	Why string `json:"why,omitempty"`
	// taken is the earliest time at which the snapshot that the last pass read can have been requested.
	// +optional
	Taken metav1.Time `json:"taken,omitempty,omitzero"`
	// refused is why the requested warm passes are not possible. The ordinal is then stopped for the whole copy.
	// +optional
	Refused string `json:"refused,omitempty"`
}
