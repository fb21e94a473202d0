#: from: summary / Contributing
# Fork the repository
#: left out: it acts on the earlier tool's repository, with somebody's account; instead: CONTRIBUTING.md
gh repo fork chenxingqiang/TraceSmith

# Create a feature branch
#: left out: git itself, nothing of ours; instead: CONTRIBUTING.md
git checkout -b feature/amazing-feature

# Commit your changes
#: left out: git itself, nothing of ours; instead: CONTRIBUTING.md
git commit -m "Add amazing feature"

# Push and create PR
#: left out: git itself, nothing of ours; instead: CONTRIBUTING.md
git push origin feature/amazing-feature
