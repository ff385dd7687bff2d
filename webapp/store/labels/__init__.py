"""What people say of responses comes in; the label that holds, its history and who agrees go out."""
