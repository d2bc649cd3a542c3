# The image of the manager and of the mover: the programs and nothing else, not run by root. A pod that runs
# /mover names it as its command, and its user.
#
#   CGO_ENABLED=0 make build && docker build -t IMAGE:TAG -f Dockerfile bin
#
# It has no certificates of public authorities: a kubeconfig that a Migration names must
# hold the authority of its cluster, as kubeconfigs that kubeadm writes do.
FROM scratch
COPY manager mover /
USER 65532:65532
ENTRYPOINT ["/manager"]
